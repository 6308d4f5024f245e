/** *Objects*: put files, list what is here, look into directories, and check bytes in this page. */
import type { TreeEntry } from '@cairn/sdk'
import { html, nothing, type TemplateResult } from 'lit'
import { bytes, count, counted, shown } from '../format.ts'
import { icon } from '../icons.ts'
import {
  address,
  bar,
  drawn,
  empty,
  facts,
  foreign,
  LOADING,
  type Loaded,
  Page,
  type Part,
  panel,
  state,
  toast,
} from '../parts.ts'
import { ask, askJson, Problem, whyOf } from '../session.ts'

interface ObjectRow {
  readonly address: string
  readonly size: number
  readonly type: string
}

interface ObjectPage {
  readonly objects: readonly ObjectRow[]
  readonly cursor: string | null
}

interface Upload {
  readonly name: string
  readonly size: number
  sent: number
  fresh: number
  result:
    | { readonly tag: 'going' }
    | { readonly tag: 'done'; readonly address: string }
    | { readonly tag: 'failed'; readonly why: string }
}

interface Shown {
  readonly address: string
  readonly size: number
  readonly type: string
  readonly entries: readonly TreeEntry[] | undefined
  readonly text: string | undefined
  readonly image: string | undefined
}

const PAGE_SIZE = 50
/** More of it is not drawn as text or an image. */
const PREVIEW_MAX = 2_000_000
const TREE_MAX = 1_000_000
const TEXT_MAX = 20_000
/** What a browser draws without running anything of it. */
const IMAGES: readonly string[] = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']

class CairnObjects extends Page {
  static override properties = { rest: { attribute: false } }
  declare rest: string
  #page: Loaded<ObjectPage> = LOADING
  /** Cursors of the pages before this one. */
  #before: (string | undefined)[] = []
  #cursor: string | undefined
  #uploads: readonly Upload[] = []
  #shown: Loaded<Shown> | undefined
  #shownAddress = ''
  #verified: Loaded<string> | undefined
  #isOver = false

  override connectedCallback(): void {
    super.connectedCallback()
    this.#read(undefined)
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    this.#forgetImage()
  }

  protected override willUpdate(): void {
    const wanted = this.rest.startsWith('b3:') ? this.rest : ''
    if (wanted === this.#shownAddress) return
    this.#shownAddress = wanted
    this.#forgetImage()
    this.#verified = undefined
    this.#shown = wanted === '' ? undefined : LOADING
    if (wanted !== '') this.keep(show(wanted), (shown) => (this.#shown = shown))
  }

  #forgetImage(): void {
    if (this.#shown?.tag === 'loaded' && this.#shown.value.image !== undefined)
      URL.revokeObjectURL(this.#shown.value.image)
  }

  #read(cursor: string | undefined): void {
    this.#cursor = cursor
    const query = new URLSearchParams({ limit: String(PAGE_SIZE), ...(cursor === undefined ? {} : { cursor }) })
    this.keep(askJson<ObjectPage>('storage', `admin/objects?${query.toString()}`), (page) => (this.#page = page))
  }

  protected override render(): Part {
    return html`${this.#drop()} ${this.#uploads.length === 0 ? nothing : this.#transfers()}
      ${this.#shown === undefined ? nothing : this.#detail(this.#shown)} ${this.#list()}`
  }

  #drop(): TemplateResult {
    const take = (files: FileList | null | undefined): void => {
      if (files !== null && files !== undefined) this.#put([...files])
    }
    return html`<div
      class="drop"
      ?data-over=${this.#isOver}
      @dragover=${(event: DragEvent) => {
        event.preventDefault()
        this.#isOver = true
        this.requestUpdate()
      }}
      @dragleave=${() => {
        this.#isOver = false
        this.requestUpdate()
      }}
      @drop=${(event: DragEvent) => {
        event.preventDefault()
        this.#isOver = false
        take(event.dataTransfer?.files)
        this.requestUpdate()
      }}
    >
      ${icon('up')}
      <div><strong>Drop files here</strong><br />Addresses are computed in this page before anything is sent; what the node has is not sent again.</div>
      <div class="row">
      <label class="btn"
        >Choose files<input
          class="vh"
          type="file"
          multiple
          aria-label="Choose files"
          @change=${(event: Event) => {
            const field = event.target as HTMLInputElement
            take(field.files)
            field.value = ''
          }}
      /></label>
      </div>
    </div>`
  }

  #put(files: readonly File[]): void {
    const uploads = files.map(
      (file): Upload => ({ name: file.name, size: file.size, sent: 0, fresh: 0, result: { tag: 'going' } }),
    )
    this.#uploads = [...uploads, ...this.#uploads].slice(0, 20)
    const each = files.map(async (file, at) => {
      const upload = uploads[at]
      if (upload !== undefined) await this.#putOne(file, upload)
    })
    Promise.all(each)
      .then(() => this.#read(this.#cursor))
      .catch((error: unknown) => toast('bad', whyOf(error)))
  }

  async #putOne(file: File, upload: Upload): Promise<void> {
    try {
      const { cairn } = await import('../node-client.ts')
      const stored = await cairn.put(file, {
        ...(file.type === '' ? {} : { type: file.type }),
        onProgress: ({ bytes: sent, newBytes }) => {
          upload.sent = sent
          upload.fresh = newBytes
          this.requestUpdate()
        },
      })
      upload.sent = stored.size
      upload.fresh = stored.newBytes
      upload.result = { tag: 'done', address: stored.address }
    } catch (error) {
      upload.result = { tag: 'failed', why: whyOf(error) }
    }
    this.requestUpdate()
  }

  #transfers(): TemplateResult {
    return panel({
      title: 'Transfers',
      meta: 'of this page',
      body: html`<div class="rows">${this.#uploads.map(transferRow)}</div>`,
    })
  }

  #list(): TemplateResult {
    return panel({
      title: 'On this node',
      meta: 'by address',
      body: drawn(
        this.#page,
        ({ objects, cursor }) =>
          objects.length === 0
            ? empty({
                glyph: 'objects',
                title: 'Nothing is stored yet',
                why: 'What you put here or with the command line shows in this list.',
                command: 'cairn put ./photos',
              })
            : html`<table class="t list objects">
                  <thead>
                    <tr><th scope="col">Address</th><th scope="col">Type</th><th scope="col" class="num">Size</th><th scope="col"><span class="vh">Actions</span></th></tr>
                  </thead>
                  <tbody>
                    ${objects.map(
                      (row) => html`<tr aria-selected=${row.address === this.#shownAddress}>
                        <td><a class="file" href=${`#/objects/${row.address}`}>${icon('file')}<span class="name mono">${row.address.slice(0, 15)}…${row.address.slice(-6)}</span></a></td>
                        <td class="soft">${foreign(row.type)}</td>
                        <td class="num">${bytes(row.size)}</td>
                        <td class="num"><a class="btn quiet small" href=${`#/objects/${row.address}`} aria-label=${`Open ${row.address}`}>Open</a></td>
                      </tr>`,
                    )}
                  </tbody>
                </table>
                ${this.#pager(objects.length, cursor)}`,
        () => this.#read(this.#cursor),
      ),
    })
  }

  #pager(shown: number, next: string | null): TemplateResult {
    return html`<div class="pager">
      <span>${counted(shown, 'object')} on page ${count(this.#before.length + 1)}</span>
      <button
        type="button"
        class="btn small"
        ?disabled=${this.#before.length === 0}
        @click=${() => {
          const cursor = this.#before.at(-1)
          this.#before = this.#before.slice(0, -1)
          this.#read(cursor)
        }}
      >
        Previous
      </button>
      <button
        type="button"
        class="btn small"
        ?disabled=${next === null}
        @click=${() => {
          this.#before = [...this.#before, this.#cursor]
          this.#read(next ?? undefined)
        }}
      >
        Next
      </button>
    </div>`
  }

  #detail(asked: Loaded<Shown>): TemplateResult {
    return panel({
      title: 'Object',
      meta: html`<a href="#/objects">Close</a>`,
      body: drawn(
        asked,
        (object) => html`${preview(object)}
          <div class="panel-body block">
            ${facts([
              ['Address', address(object.address, true)],
              [
                'Type',
                object.entries === undefined
                  ? foreign(object.type)
                  : `directory, ${counted(object.entries.length, 'entry', 'entries')}`,
              ],
              ['Size', `${bytes(object.size)} (${count(object.size)} B)`],
              [
                'Checked',
                this.#verified === undefined ? 'not in this page' : drawn(this.#verified, (said) => state('ok', said)),
              ],
            ])}
            <div class="row">
              <button type="button" class="btn" @click=${() => this.#verify(object)}>${icon('shield')}Verify here</button>
              <button type="button" class="btn" @click=${this.run(async () => await download(object))}>${icon('down')}Download</button>
              <button type="button" class="btn danger" @click=${this.run(async () => await this.#remove(object))}>${icon('minus')}Delete object</button>
            </div>
          </div>`,
      ),
    })
  }

  #verify({ address: wanted, size }: Shown): void {
    this.#verified = LOADING
    this.requestUpdate()
    const read = async (): Promise<string> => {
      const { cairn } = await import('../node-client.ts')
      let length = 0
      const reader = cairn.get(wanted).getReader()
      for (let part = await reader.read(); !part.done; part = await reader.read()) length += part.value.length
      if (length !== size) throw new Error(`The node said ${size} bytes, and there are ${length}.`)
      return `${bytes(length)} read and proved in this page, against the address`
    }
    this.keep(read(), (verified) => (this.#verified = verified))
  }

  async #remove({ address: wanted }: Shown): Promise<void> {
    if (!confirm(`Delete ${wanted}? What a directory lists is not deleted with it.`)) return
    try {
      await ask('storage', `o/${wanted}`, { method: 'DELETE' })
      toast('ok', 'Deleted')
      location.hash = '#/objects'
      this.#read(this.#cursor)
    } catch (error) {
      const held = error instanceof Problem && error.code === 'referenced'
      toast('bad', held ? `Not deleted: something holds it. ${whyOf(error)}` : whyOf(error))
    }
  }
}

function transferRow({ name, size, sent, fresh, result }: Upload): TemplateResult {
  const glyph = { going: 'work', done: 'ok', failed: 'bad' } as const
  const said =
    result.tag === 'failed'
      ? shown(result.why)
      : `${bytes(sent)} of ${bytes(size)}${result.tag === 'done' && fresh < size ? `, ${bytes(size - fresh)} was already here` : ''}`
  return html`<div class="transfer" data-state=${result.tag === 'failed' ? 'bad' : 'ok'}>
    ${icon(glyph[result.tag])}
    <div class="name">${foreign(name)}</div>
    ${bar(Math.max(size, 1), [{ size: result.tag === 'done' ? Math.max(size, 1) : sent }], said)}
    <small>${said}</small>
    <div class="row">${result.tag === 'done' ? html`<a class="btn small" href=${`#/objects/${result.address}`}>Open</a>` : nothing}</div>
  </div>`
}

async function show(wanted: string): Promise<Shown> {
  const head = await ask('storage', `o/${wanted}`, { headers: { range: 'bytes=0-0' } }).catch((error: unknown) => {
    // An empty object has no first byte.
    if (error instanceof Problem && error.status === 416) return undefined
    throw error
  })
  await head?.body?.cancel()
  const size = Number(/\/(\d+)$/.exec(head?.headers.get('content-range') ?? '')?.[1] ?? 0)
  const type = head?.headers.get('content-type') ?? 'application/octet-stream'
  const plain = { address: wanted, size, type, entries: undefined, text: undefined, image: undefined }
  const entries = size < TREE_MAX ? await entriesOf(wanted) : undefined
  if (entries !== undefined) return { ...plain, entries }
  if (size > PREVIEW_MAX || size === 0) return plain
  if (IMAGES.includes(type))
    return { ...plain, image: URL.createObjectURL(new Blob([await bytesOf(wanted)], { type })) }
  if (!/^(?:text\/|application\/(?:json|xml|javascript|toml|x-sh)|image\/svg)/.test(type)) return plain
  return { ...plain, text: new TextDecoder().decode(await bytesOf(wanted)).slice(0, TEXT_MAX) }
}

/** What a directory lists; undefined for what is none. Nothing but its bytes says which it is. */
async function entriesOf(wanted: string): Promise<readonly TreeEntry[] | undefined> {
  const { cairn } = await import('../node-client.ts')
  try {
    return await cairn.readTree(wanted)
  } catch {
    return undefined
  }
}

/** The whole object, proved. */
async function bytesOf(wanted: string): Promise<ArrayBuffer> {
  const { cairn } = await import('../node-client.ts')
  return await new Response(cairn.get(wanted)).arrayBuffer()
}

function preview({ entries, text, image }: Shown): Part {
  if (image !== undefined) return html`<div class="preview"><img src=${image} alt="The object as an image" /></div>`
  if (text !== undefined) return html`<div class="panel-body block"><pre class="code">${text}</pre></div>`
  if (entries === undefined) return nothing
  if (entries.length === 0) return empty({ glyph: 'folder', title: 'An empty directory', why: 'It lists no files.' })
  return html`<div class="rows">${entries.map(entryRow)}</div>`
}

function entryRow(entry: TreeEntry): TemplateResult {
  if (entry.kind === 'link')
    return html`<div class="file">${icon('link')}<span>${foreign(entry.name)} → ${foreign(entry.target)}</span></div>`
  const { id } = entry
  return html`<a class="file" href=${`#/objects/${id}`}
    >${icon(entry.kind === 'tree' ? 'folder' : 'file')}<span
      >${foreign(entry.name)} <span class="soft">${'size' in entry && typeof entry.size === 'number' ? bytes(entry.size) : ''}</span></span
    ></a
  >`
}

async function download({ address: wanted, type }: Shown): Promise<void> {
  const url = URL.createObjectURL(new Blob([await bytesOf(wanted)], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${wanted.replace(':', '_').slice(0, 19)}${type === 'text/html' ? '.html' : ''}`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

customElements.define('cairn-objects', CairnObjects)
