/**
 * The API reference as a page: what every service of this process says in its `/openapi.json`, for people. One file,
 * no script, nothing fetched from anywhere.
 */
import { createHash } from 'node:crypto'
import type { IngressResponse } from '@cairn/transport'

/** The parts of an OpenAPI document that the page shows. */
export interface ApiDocument {
  readonly info: { readonly title: string; readonly description: string }
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
}

interface ApiOperation {
  readonly summary: string
  readonly parameters: readonly {
    readonly name: string
    readonly in: string
    readonly required: boolean
    readonly schema: unknown
  }[]
  readonly security?: readonly { readonly capability: readonly string[] }[]
  readonly requestBody?: { readonly content: ApiContent }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: ApiContent }>>
}

type ApiContent = Readonly<Record<string, { readonly schema?: unknown }>>

const STYLE = `
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 20%, transparent) }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
nav a { margin-right: 1rem }
section { border-top: 1px solid var(--line); padding: .75rem 0 }
h3 { font: 600 1rem ui-monospace, monospace; margin: 0; overflow-wrap: anywhere }
h3 b { display: inline-block; min-width: 4.5rem }
p { margin: .25rem 0 }
code, pre { font-family: ui-monospace, monospace; font-size: .875rem }
pre { overflow: auto; border: 1px solid var(--line); padding: .5rem }
table { border-collapse: collapse; width: 100%; font-size: .875rem }
td { border-top: 1px solid var(--line); padding: .25rem .5rem .25rem 0; vertical-align: top; overflow-wrap: anywhere }
td:first-child { width: 9rem; white-space: nowrap }
`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export interface ApiService {
  readonly name: string
  readonly document: ApiDocument
  /** Where the service listens. */
  readonly url: string | undefined
}

/** The answer to a browser that wants to read. */
export function apiPage(places: readonly ApiService[]): IngressResponse {
  const body = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>cairn API</title>
<style>${STYLE}</style>
<h1>cairn API</h1>
<p>Every answer that is not 2xx or 3xx is <code>application/problem+json</code> with a <code>code</code> to switch on. Routes with a
scope take <code>Authorization: Bearer TOKEN</code>; <code>cairn token mint</code> makes one.</p>
<nav>${places.map(({ name }) => `<a href="#${escaped(name)}">${escaped(name)}</a>`).join('')}</nav>
${places.map(servicePart).join('\n')}
</html>
`
  const headers = [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Security-Policy',
    POLICY,
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
  ]
  return { status: 200, headers, body }
}

function servicePart({ name, document: { info, paths }, url }: ApiService): string {
  const where =
    url === undefined
      ? ''
      : ` At <code>${escaped(url)}</code>, and for programs <a href="${escaped(url)}/openapi.json">openapi.json</a>.`
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => operationPart(method, path, operation)),
  )
  return `<h2 id="${escaped(name)}">${escaped(name)}</h2>\n<p>${escaped(info.description)}${where}</p>\n${operations.join('\n')}`
}

function operationPart(method: string, path: string, operation: ApiOperation): string {
  const { summary, parameters, security, requestBody, responses } = operation
  const scopes = security?.flatMap(({ capability }) => capability) ?? []
  const rows = [
    ...parameters.map(({ name, in: place, required, schema }) => {
      return row(`${place} ${name}`, `${required ? '' : 'optional '}${code(JSON.stringify(schema))}`)
    }),
    ...Object.entries(responses).map(([status, { description }]) => row(status, marked(description))),
  ]
  return `<section>
<h3><b>${method.toUpperCase()}</b> ${escaped(path)}</h3>
<p>${marked(summary)}${scopes.length === 0 ? '' : ` Scope ${scopes.map(code).join(', ')}.`}</p>
${contentPart('Body', requestBody?.content)}<table>${rows.join('')}</table>
${Object.entries(responses)
  .filter(([status]) => status.startsWith('2'))
  .map(([status, { content }]) => contentPart(`Answer ${status}`, content))
  .join('')}</section>`
}

function contentPart(title: string, content: ApiContent | undefined): string {
  return Object.entries(content ?? {})
    .map(([type, { schema }]) => {
      const shown = schema === undefined ? '' : `<pre>${escaped(JSON.stringify(schema, undefined, 2))}</pre>`
      return `<details><summary>${title}: ${code(type)}</summary>${shown}</details>\n`
    })
    .join('')
}

function row(name: string, html: string): string {
  return `<tr><td>${escaped(name)}</td><td>${html}</td></tr>`
}

function code(text: string): string {
  return `<code>${escaped(text)}</code>`
}

/** A sentence with code between backticks. */
function marked(text: string): string {
  return escaped(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
