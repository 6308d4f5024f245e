/**
 * A tree as a website.
 *
 *     name ─▶ tree ─▶ directory ─▶ … ─▶ file
 *                                  ├─▶ directory with a slash: its index.html        without: 308 to the one with
 *                                  └─▶ nothing: the site's 404.html, or a problem
 */
import { CairnError, type Runtime } from '@cairn/kernel'
import { empty, type IngressResponse } from '@cairn/platform'
import { type Address, decodeTree, MAX_TREE_BYTES, type TreeEntry } from '@cairn/wire'
import { OWN_ORIGIN, SANDBOXED } from '../answers/guard-headers.ts'
import { HotBytes } from '../answers/hot-bytes.ts'
import type { AnyContext } from '../answers/serve.ts'
import { noSuchFile } from '../errors.ts'
import type { ObjectAnswers } from '../objects/object-answers.ts'
import { mediaTypeOf } from './media-types.ts'
import type { NamedTree, Names } from './names.ts'

const CACHING: readonly string[] = ['Cache-Control', 'public, max-age=5, stale-while-revalidate=30']
const DEPTH_MAX = 64
/** Directories kept in memory: what an address means never changes, so only room ends it. */
const TREES_BYTES_MAX = 16 * 1024 * 1024
const TREES_MS = 3_600_000

type Directory = ReadonlyMap<string, TreeEntry>

/** Which site, and how it is reached. */
export interface SiteRequest {
  readonly name: string
  /** Below the site's root, as in the URL, without a leading slash. */
  readonly path: string
  readonly origin: 'shared' | 'own'
}

type Found =
  | { readonly tag: 'file'; readonly entry: TreeEntry }
  | { readonly tag: 'directory' }
  | { readonly tag: 'nothing' }

export class SiteAnswers {
  readonly #names: Names
  readonly #objects: ObjectAnswers
  readonly #trees: HotBytes<Directory>

  constructor(runtime: Runtime, names: Names, objects: ObjectAnswers) {
    this.#names = names
    this.#objects = objects
    this.#trees = new HotBytes(runtime.clock, TREES_BYTES_MAX, TREES_MS)
  }

  async answer(context: AnyContext, request: SiteRequest): Promise<IngressResponse> {
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

  async #missing(context: AnyContext, request: SiteRequest, tree: NamedTree): Promise<IngressResponse> {
    const root = await this.#directory(context, tree.address)
    const page = root.get('404.html')
    if (page?.kind !== 'file') throw noSuchFile(request.path)
    return await this.#file(context, request, tree, page, 404)
  }

  async #file(
    context: AnyContext,
    request: SiteRequest,
    tree: NamedTree,
    entry: TreeEntry,
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

  async #walk(context: AnyContext, root: Address, path: string): Promise<Found> {
    const segments = path.split('/')
    const last = segments.pop() ?? ''
    if (segments.length > DEPTH_MAX) return { tag: 'nothing' }
    let directory = await this.#directory(context, root)
    for (const segment of segments) {
      const entry = directory.get(decoded(segment))
      if (entry?.kind !== 'tree') return { tag: 'nothing' }
      directory = await this.#directory(context, entry.id)
    }
    const entry = directory.get(last === '' ? 'index.html' : decoded(last))
    if (entry === undefined) return { tag: 'nothing' }
    if (entry.kind === 'file') return { tag: 'file', entry }
    return last === '' ? { tag: 'nothing' } : { tag: 'directory' }
  }

  async #directory(context: AnyContext, id: Address): Promise<Directory> {
    const known = this.#trees.get(id)
    if (known !== undefined) return known
    const bytes = await this.#objects.bytes(context, id, MAX_TREE_BYTES)
    const directory = new Map(entriesOf(id, bytes).map((entry) => [entry.name, entry]))
    this.#trees.set(id, directory, bytes.length)
    return directory
  }
}

/** A name may mean any object; only a directory is a website. */
function entriesOf(id: Address, bytes: Uint8Array): readonly TreeEntry[] {
  try {
    return decodeTree(bytes)
  } catch (cause) {
    const detail = `The name means ${id}, which is no directory; its bytes are at /edge/assets/b3/${id.slice('b3:'.length)}.`
    throw new CairnError('NotFound', detail, { cause })
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
function withSlash({ path, queryText }: AnyContext): string {
  const last = path.slice(path.lastIndexOf('/') + 1)
  return `./${last}/${queryText === '' ? '' : `?${queryText}`}`
}
