/** The one document of the console, and the policy it lives under. */
import { createHash } from 'node:crypto'
import { CONSOLE } from '@cairn/console'
import type { RequestHead } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import type { IngressResponse } from '@cairn/transport'
import { type ConsoleAssets, collectAssets } from './modules.ts'

/** Read when it is about to be used: a node whose console nobody opens has none of it in memory. */
export class ConsolePage {
  readonly #collect: typeof collectAssets
  #assets: Promise<ConsoleAssets> | undefined

  constructor(collect: typeof collectAssets = collectAssets) {
    this.#collect = collect
  }

  /** Reads the files ahead of the browser, while that starts. */
  prepare(): void {
    // A request for the page reads them again, and says why they cannot be read.
    this.#read().catch(() => undefined)
  }

  async document(head: RequestHead): Promise<IngressResponse> {
    const local = localhostUrl(head)
    if (local !== undefined) return { status: 307, headers: ['Location', local, 'Cache-Control', 'no-store'] }
    const { hash, importMap, pathOf } = await this.#read()
    const url = (file: URL): string => `/console/${hash}/${pathOf(file)}`
    const body = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>cairn</title>
<link rel="icon" href="${url(CONSOLE.icon)}">
<script src="${url(CONSOLE.theme)}"></script>
${CONSOLE.styles.map((style) => `<link rel="stylesheet" href="${url(style)}">`).join('\n')}
<script type="importmap">${importMap}</script>
<script type="module" src="${url(CONSOLE.app)}"></script>
</head>
<body>
<cairn-app></cairn-app>
<noscript><main class="gate"><h1>The console needs JavaScript</h1><p>All of it comes from this node. The command line does the same: <code>cairn status</code>.</p></main></noscript>
</body>
</html>
`
    return { status: 200, headers: [...documentHeaders(importMap), 'Cache-Control', 'no-store'], body }
  }

  async file(hash: string, path: string, head: RequestHead): Promise<IngressResponse> {
    const assets = await this.#read()
    const file = assets.hash === hash ? assets.files.get(path) : undefined
    if (file === undefined)
      throw new CairnError('NotFound', 'The console has no such file; load the page again.', { code: 'not_found' })
    const isGzipTaken = /\bgzip\b/.test(head.headers.get('accept-encoding') ?? '')
    const headers = [
      'Content-Type',
      file.type,
      'Cache-Control',
      'public, max-age=31536000, immutable',
      'X-Content-Type-Options',
      'nosniff',
      'Cross-Origin-Resource-Policy',
      'same-origin',
      'Vary',
      'Accept-Encoding',
    ]
    if (!isGzipTaken) return { status: 200, headers, body: file.bytes }
    return { status: 200, headers: [...headers, 'Content-Encoding', 'gzip'], body: file.gzipped }
  }

  async #read(): Promise<ConsoleAssets> {
    this.#assets ??= this.#collect({
      modules: [CONSOLE.app, CONSOLE.theme],
      plain: [...CONSOLE.styles, CONSOLE.icon],
    })
    return await this.#assets
  }
}

function documentHeaders(importMap: string): readonly string[] {
  const hash = createHash('sha256').update(importMap).digest('base64')
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'wasm-unsafe-eval' 'sha256-${hash}'`,
    "style-src 'self'",
    "img-src 'self' blob:",
    'media-src blob:',
    "connect-src 'self'",
    "worker-src 'self'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "require-trusted-types-for 'script'",
  ]
  return [
    'Content-Type',
    'text/html; charset=utf-8',
    'Content-Security-Policy',
    policy.join('; '),
    'X-Content-Type-Options',
    'nosniff',
    'Referrer-Policy',
    'no-referrer',
    'Cross-Origin-Opener-Policy',
    'same-origin',
    'Cross-Origin-Resource-Policy',
    'same-origin',
    'Permissions-Policy',
    'publickey-credentials-get=(self), publickey-credentials-create=(self)',
  ]
}

/** A passkey belongs to a name, never to an IP address: on this machine the console is at `localhost` only. */
function localhostUrl({ host, headers, peer, queryText }: RequestHead): string | undefined {
  if (host !== '127.0.0.1' && host !== '[::1]') return undefined
  const [port = ''] = /:\d+$/.exec(headers.get('host') ?? '') ?? []
  return `${peer.kind === 'tls' ? 'https' : 'http'}://localhost${port}/${queryText === '' ? '' : `?${queryText}`}`
}
