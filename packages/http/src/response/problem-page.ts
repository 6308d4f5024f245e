/** A problem as a page, for a person whose browser met it: the content is that of the JSON every program gets. */
import { createHash } from 'node:crypto'
import type { Problem } from '@cairn/wire'
import type { RequestHeaders } from '../request/request-headers.ts'

const STYLE = `
:root{color-scheme:light dark;--ground:light-dark(#f5f4f1,#121315);--surface:light-dark(#fff,#1a1b1e);--line:light-dark(#e2dfd9,#2b2d32);--text:light-dark(#1b1c1e,#e9e8e4);--soft:light-dark(#4c4d51,#b4b5b8);--faint:light-dark(#636468,#989a9f)}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-content:center;grid-template-columns:minmax(0,34rem);padding:1.5rem 1rem;background:var(--ground);color:var(--text);font:14px/20px system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans","Liberation Sans",sans-serif;overflow-wrap:anywhere}
main{background:var(--surface);border:1px solid var(--line);border-radius:8px;padding:1.5rem}
h1{font-size:1.25rem;line-height:1.75rem;margin:0 0 .5rem}
p{margin:0 0 .75rem;color:var(--soft)}
dl{display:grid;grid-template-columns:5.25rem minmax(0,1fr);gap:.25rem .75rem;margin:1rem 0 0;padding-top:1rem;border-top:1px solid var(--line);font-size:13px}
dt{color:var(--faint)}dd{margin:0}
code{font:.92em ui-monospace,"SF Mono","DejaVu Sans Mono",Menlo,Consolas,monospace}
`

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Whether this request is a browser's that will show the answer to a person. */
export function isForPerson(method: string, headers: RequestHeaders): boolean {
  if (method !== 'GET' && method !== 'HEAD') return false
  const destination = headers.slot('sec-fetch-dest')
  if (destination !== undefined && destination !== 'document') return false
  return /(?:^|,)\s*text\/html\b/.test(headers.get('accept') ?? '')
}

/** The body of the page, and the headers it has beside those of every problem. */
export function problemPage({ status, title, detail, code, corr_id: corrId }: Problem): {
  readonly headers: readonly string[]
  readonly body: string
} {
  const heading = HEADINGS[status] ?? (status >= 500 ? 'This did not work' : 'This was refused')
  // Where every error of a kind has the same sentence, it is not said twice.
  const general = title === detail ? '' : `<p>${escaped(title)}</p>\n`
  const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${status} ${heading} · cairn</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${heading}</h1>
<p>${escaped(detail)}</p>
${general}<dl><dt>Status</dt><dd>${status}</dd><dt>Code</dt><dd><code>${escaped(code)}</code></dd><dt>Request</dt><dd><code>${escaped(corrId)}</code></dd></dl>
</main>
</body>
</html>
`
  return { headers: ['Content-Type', 'text/html; charset=utf-8', 'Content-Security-Policy', POLICY], body }
}

const HEADINGS: Readonly<Record<number, string>> = {
  400: 'The address is not right',
  401: 'This needs a token',
  403: 'This is not allowed',
  404: 'Not found',
  405: 'Not with this method',
  409: 'Not as things stand',
  410: 'No longer here',
  421: 'Not the host for this name',
  429: 'Too much at once',
  502: 'What came was not what it should be',
  503: 'Not at the moment',
  504: 'It took too long',
}

function escaped(text: string): string {
  const shown = text.replaceAll(/[\p{Cc}\p{Cf}]/gu, (character) => `U+${(character.codePointAt(0) ?? 0).toString(16)}`)
  return shown.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
