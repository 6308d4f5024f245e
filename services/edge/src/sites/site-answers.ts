/**
 * A tree as a website.
 *
 *     name ─▶ tree ─▶ directory ─▶ … ─▶ file
 *                                  ├─▶ link: on from where it leads, inside the root
 *                                  ├─▶ directory with a slash: its index.html        without: 308 to the one with
 *                                  └─▶ nothing: the site's 404.html, or a problem
 */
import { empty } from '@cairn/http'
import type { IngressResponse } from '@cairn/transport'
import { type Address, parseLinkTarget, type TreeObject } from '@cairn/wire'
import { OWN_ORIGIN, SANDBOXED } from '../answers/response-headers.ts'
import type { EdgeRequestContext } from '../answers/serve.ts'
import { noSuchFile } from '../errors.ts'
import type { ObjectAnswers } from '../objects/object-answers.ts'
import type { Directories } from './directories.ts'
import type { NamedTree, Names } from './names.ts'

/** Types by the end of a file's name, for files whose type nobody told. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  xml: 'application/xml',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/vnd.microsoft.icon',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  wasm: 'application/wasm',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  webmanifest: 'application/manifest+json',
  pmtiles: 'application/vnd.pmtiles',
  mvt: 'application/vnd.mapbox-vector-tile',
  pbf: 'application/x-protobuf',
}

const OCTETS = 'application/octet-stream'

/** The told type where it is one, else the one its name suggests. */
function mediaTypeOf(name: string, told: string | undefined): string {
  const isTold =
    told !== undefined && told !== OCTETS && /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*[\w-]+=(?:[\w.+-]+|"[^"\\]*"))*$/.test(told)
  if (isTold) return told
  const end = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return TYPES[end] ?? OCTETS
}

const CACHING: readonly string[] = ['Cache-Control', 'public, max-age=5, stale-while-revalidate=30']
const DEPTH_MAX = 64
const LINKS_MAX = 8

/** Which site, and how it is reached. */
export interface SiteRequest {
  readonly name: string
  /** Below the site's root, as in the URL, without a leading slash. */
  readonly path: string
  readonly origin: 'shared' | 'own'
}

type WalkResult =
  | { readonly tag: 'file'; readonly entry: TreeObject }
  | { readonly tag: 'directory' }
  | { readonly tag: 'nothing' }

interface WalkStep {
  readonly name: string
  /** False for what a link leads through: that must be there itself. */
  readonly mayBeLink: boolean
}

export class SiteAnswers {
  readonly #names: Names
  readonly #objects: ObjectAnswers
  readonly #directories: Directories

  constructor(names: Names, objects: ObjectAnswers, directories: Directories) {
    this.#names = names
    this.#objects = objects
    this.#directories = directories
  }

  async answer(context: EdgeRequestContext, request: SiteRequest): Promise<IngressResponse> {
    const tree = await this.#names.resolve(request.name, context)
    const found = await this.#walk(context, tree.address, request.path)
    switch (found.tag) {
      case 'file':
        return await this.#file(context, request, tree, found.entry, 200)
      case 'directory':
        return empty(308, [...this.#headers(request, tree), 'Location', withSlash(context)])
      case 'nothing':
        return await this.#missing(context, request, tree)
    }
  }

  async #missing(context: EdgeRequestContext, request: SiteRequest, tree: NamedTree): Promise<IngressResponse> {
    const page = await this.#follow(context, tree.address, ['404.html'])
    if (page?.kind !== 'file') throw noSuchFile(request.path)
    return await this.#file(context, request, tree, page, 404)
  }

  async #file(
    context: EdgeRequestContext,
    request: SiteRequest,
    tree: NamedTree,
    entry: TreeObject,
    status: number,
  ): Promise<IngressResponse> {
    const headers = this.#headers(request, tree)
    const type = mediaTypeOf(entry.name, entry.type)
    return await this.#objects.answer(context, entry.id, { route: 'n', status, type, headers })
  }

  #headers({ origin }: SiteRequest, { version }: NamedTree): string[] {
    const guards = origin === 'own' ? OWN_ORIGIN : SANDBOXED
    return [...CACHING, ...guards, ...(version === undefined ? [] : ['X-Cairn-Version', version])]
  }

  async #walk(context: EdgeRequestContext, root: Address, path: string): Promise<WalkResult> {
    const segments = path.split('/')
    const last = segments.pop() ?? ''
    if (segments.length > DEPTH_MAX) return { tag: 'nothing' }
    const names = [...segments, ...(last === '' ? ['index.html'] : [last])].map(decoded)
    const entry = await this.#follow(context, root, names)
    if (entry === undefined) return { tag: 'nothing' }
    if (entry.kind === 'file') return { tag: 'file', entry }
    return last === '' ? { tag: 'nothing' } : { tag: 'directory' }
  }

  /** The file or directory at the end of this path, on the way through at most `LINKS_MAX` links. */
  async #follow(context: EdgeRequestContext, root: Address, names: readonly string[]): Promise<TreeObject | undefined> {
    const below: TreeObject[] = []
    let links = 0
    let left: readonly WalkStep[] = names.map((name) => ({ name, mayBeLink: true }))
    for (;;) {
      const [step, ...rest] = left
      if (step === undefined) return below.at(-1)
      const parent = below.at(-1)
      if (parent?.kind === 'file') return undefined
      const entry = await this.#directories.entry(context, parent?.id ?? root, step.name)
      if (entry === undefined) return undefined
      left = rest
      if (entry.kind !== 'link') {
        below.push(entry)
        continue
      }
      links += 1
      const { up, names: through } = parseLinkTarget(entry.target)
      if (!step.mayBeLink || links > LINKS_MAX || up > below.length) return undefined
      below.length -= up
      left = [...through.map((name, at) => ({ name, mayBeLink: at === through.length - 1 })), ...rest]
    }
  }
}

/** The ingress has refused escapes that change the meaning of a path; what is left is a name. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return ''
  }
}

/** Relative, so that it holds under every origin the request may have come by. */
function withSlash({ path, queryText }: EdgeRequestContext): string {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return `./${last}/${queryText === '' ? '' : `?${queryText}`}`
}
