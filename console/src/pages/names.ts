/** *Names*: what each means, how it came to mean it, its proof, and what waits for a signature. */
import type { Item, Payload, Quorum } from '@cairn/names'
import type { Registry } from '@cairn/sdk'
import { html, nothing, type TemplateResult } from 'lit'
import { ago, count, counted, exact, listed, shown } from '../format.ts'
import { icon } from '../icons.ts'
import { live } from '../live.ts'
import {
  address,
  commandLine,
  drawn,
  empty,
  facts,
  foreign,
  LOADING,
  type Loaded,
  loaded,
  Page,
  type Part,
  panel,
  state,
  toast,
} from '../parts.ts'
import { askJson, Problem } from '../session.ts'

interface Head {
  readonly version: number
}

interface ArtifactRow {
  readonly version: number
  readonly payload: { readonly items: readonly Item[]; readonly note?: string }
  readonly committed_at: number
  readonly approvals: readonly { readonly signer_id: string }[]
}

interface NameRow {
  readonly name: string
  readonly item: Item
  readonly version: number
  readonly at: number
  readonly by: readonly string[]
  readonly note: string | undefined
}

interface Proposal {
  readonly proposal_id: string
  readonly status: 'open' | 'expired' | 'committed'
  readonly expires_at: number
  readonly payload: Payload
  readonly quorum: Quorum
}

interface Names {
  readonly rows: readonly NameRow[]
  /** Versions that were looked through, the newest first. */
  readonly newest: number
  readonly oldest: number
}

interface Shown {
  readonly row: NameRow | undefined
  readonly history: readonly ArtifactRow[]
}

/** Versions read for one page of the list. */
const VERSIONS = 50

class CairnNames extends Page {
  static override properties = { rest: { attribute: false } }
  declare rest: string
  #names: Loaded<Names> = LOADING
  #pending: Loaded<readonly Proposal[]> = LOADING
  #shown: Loaded<Shown> | undefined
  #shownName = ''
  #proof: Loaded<string> | undefined
  #filter = ''
  /** The newest version of each page before this one. */
  readonly #before: number[] = []
  #newest: number | undefined
  readonly #onHeard = (event: Event): void => {
    const { topic } = (event as CustomEvent<{ readonly topic: string }>).detail
    if (topic.startsWith('registry.') || topic === 'audit.event') this.#read()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    live.addEventListener('heard', this.#onHeard)
    this.#read()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    live.removeEventListener('heard', this.#onHeard)
  }

  #read(): void {
    this.keep(namesUpTo(this.#newest), (names) => (this.#names = names))
    this.keep(openProposals(), (pending) => (this.#pending = pending))
    if (this.#shownName !== '') this.keep(nameOf(this.#shownName), (shown) => (this.#shown = shown))
  }

  protected override willUpdate(): void {
    const wanted = decodeURIComponent(this.rest)
    if (wanted === this.#shownName) return
    this.#shownName = wanted
    this.#proof = undefined
    this.#shown = wanted === '' ? undefined : LOADING
    if (wanted !== '') this.keep(nameOf(wanted), (shown) => (this.#shown = shown))
  }

  protected override render(): Part {
    return html`${drawn(this.#pending, (pending) => html`${pending.map((proposal) => this.#review(proposal))}`)}
      ${this.#shown === undefined ? nothing : this.#detail(this.#shown)} ${this.#list()}`
  }

  #list(): TemplateResult {
    return panel({
      title: 'Names',
      meta: html`<label class="field filter">${icon('search')}<span class="vh">Filter these names</span><input type="search" placeholder="Filter these names" @input=${(
        event: Event,
      ) => {
        this.#filter = (event.target as HTMLInputElement).value.toLowerCase()
        this.requestUpdate()
      }} /></label>`,
      body: drawn(
        this.#names,
        (names) => {
          const rows = names.rows.filter(({ name }) => name.includes(this.#filter))
          if (names.newest === 0)
            return empty({
              glyph: 'names',
              title: 'No name means anything yet',
              why: 'A name is proposed, signed and committed; from then on its meaning and every change of it can be proved.',
              command: 'cairn publish DIRECTORY site@live',
            })
          return html`<table class="t fixed list names">
              <thead><tr><th scope="col">Name</th><th scope="col" class="c-addr">Means</th><th scope="col" class="c-when">Changed</th><th scope="col">Signed by</th></tr></thead>
              <tbody>
                ${rows.map((row) => this.#row(row))}
              </tbody>
            </table>
            ${rows.length === 0 ? empty({ glyph: 'search', title: 'No name here fits', why: 'The filter looks at the names of this page only.' }) : nothing}
            ${this.#pager(names)}`
        },
        () => this.#read(),
      ),
    })
  }

  #row({ name, item, at, by }: NameRow): TemplateResult {
    const split = name.lastIndexOf('@')
    return html`<tr aria-selected=${name === this.#shownName}>
      <td><a class="name split" href=${`#/names/${encodeURIComponent(name)}`} title=${name}><span>${shown(name.slice(0, split))}</span><span>${shown(name.slice(split))}</span></a></td>
      <td>${meaning(item)}</td>
      <td class="soft nowrap"><time datetime=${exact(at)} title=${exact(at)}>${ago(at, Date.now())}</time></td>
      <td class="soft clip" title=${by.join(', ')}>${foreign(listed(by))}</td>
    </tr>`
  }

  #pager({ rows, newest, oldest }: Names): TemplateResult {
    const move = (to: number | undefined): void => {
      this.#newest = to
      this.#read()
    }
    return html`<div class="pager">
      <span>${counted(rows.length, 'name')} changed by versions ${count(oldest)}–${count(newest)}, newest change first</span>
      <button type="button" class="btn small" ?disabled=${this.#before.length === 0} @click=${() => move(this.#before.pop())}>Newer</button>
      <button type="button" class="btn small" ?disabled=${oldest <= 1} @click=${() => {
        this.#before.push(newest)
        move(oldest - 1)
      }}>Older</button>
    </div>`
  }

  #detail(asked: Loaded<Shown>): TemplateResult {
    const name = this.#shownName
    return panel({
      title: name,
      meta: html`<a href="#/names">Close</a>`,
      body: drawn(
        asked,
        ({ row, history }) => html`<div class="panel-body">
            ${
              row === undefined
                ? state('off', 'This name has no meaning now')
                : facts([
                    [
                      'Means',
                      'manifest' in row.item
                        ? html`<a href=${`#/objects/${row.item.manifest}`}>${address(row.item.manifest, true)}</a>`
                        : meaning(row.item),
                    ],
                    ['Version', count(row.version)],
                    [
                      'Proof',
                      this.#proof === undefined
                        ? html`<span class="proof" data-state="off">${icon('off')}Not checked in this page</span>`
                        : drawn(
                            this.#proof,
                            (said) => html`<span class="proof" data-state="ok">${icon('shield')}${said}</span>`,
                          ),
                    ],
                  ])
            }
            <div class="row">
              <button type="button" class="btn" @click=${() => this.keep(checkProof(name), (proof) => (this.#proof = proof))}>${icon('shield')}Check the proof here</button>
              <button type="button" class="btn" @click=${this.run(async () => await saveProof(name))}>${icon('down')}Download proof</button>
            </div>
            <h3>History</h3>
            <ol class="timeline">${history.map((version, at) => historyRow(version, name, at === 0))}</ol>
            <p class="meta">Not checked: witnesses, and whether another log was shown to others. This page comes from the node it asks; <code>cairn verify-proof</code> does not.</p>
          </div>`,
      ),
    })
  }

  #review(proposal: Proposal): TemplateResult {
    const { payload, quorum, proposal_id: id, expires_at: expires } = proposal
    const missing = Math.max(0, quorum.m - quorum.approved.length)
    return html`<section class="panel" aria-label=${`Proposal ${id}`}>
      <div class="panel-head">
        <h2>${icon('pen')} ${listed(payload.items.map((item) => shown(item.id)))}</h2>
        <span class="meta">expires ${ago(expires, Date.now())}</span>
      </div>
      <div class="panel-body">
        ${payload.note === undefined ? nothing : html`<p>${foreign(payload.note)}</p>`}
        ${payload.items.map((item) => html`<cairn-change .item=${item}></cairn-change>`)}
        <ul class="signers">
          ${quorum.approved.map((signer) => html`<li>${icon('ok')}<span>${foreign(signer)}</span><span class="soft">approved</span></li>`)}
          ${quorum.missing.map((signer) => html`<li>${icon('wait')}<span>${foreign(signer)}</span><span class="soft">has not signed</span></li>`)}
        </ul>
        ${facts([
          ['Proposal', html`<code>${id}</code>`],
          ['Quorum', `${quorum.approved.length} of ${quorum.m} signatures needed, ${counted(quorum.n, 'signer')}`],
        ])}
      </div>
      <div class="panel-foot">
        ${
          quorum.isMet
            ? html`<span>The quorum is met: a commit makes it the next version.</span><button type="button" class="btn primary" @click=${this.run(async () => await this.#commit(id))}>Commit ${shown(payload.items[0]?.id ?? '')}</button>`
            : html`<span>${counted(missing, 'signature')} missing. The key stays in this page; the file is read here and nowhere else.</span>
              <label class="btn primary">${icon('key')}Approve with a key file<input class="vh" type="file" aria-label="Key file of a signer" @change=${(event: Event) => this.#approve(proposal, event.target as HTMLInputElement)} /></label>`
        }
      </div>
      ${quorum.isMet ? nothing : html`<div class="panel-foot"><small>Approving in a page trusts the node that serves the page. Without that trust:</small>${commandLine(`cairn name approve ${id}`)}</div>`}
    </section>`
  }

  #approve(proposal: Proposal, field: HTMLInputElement): void {
    const file = field.files?.[0]
    if (file === undefined) return
    const work = async (): Promise<void> => {
      const { sign } = await import('../sign.ts')
      const { proposal_id: id, payload, quorum } = proposal
      const bytes = new Uint8Array(await file.arrayBuffer())
      const asked = await registry()
      const approval = await sign(bytes, { registry: asked, id, payload, missing: quorum.missing })
      await asked.approve(id, approval)
      toast('ok', `Signed as ${approval.signer_id}`)
      this.#read()
    }
    this.run(work)()
    field.value = ''
  }

  async #commit(id: string): Promise<void> {
    const { version } = await (await registry()).commit(id)
    toast('ok', `Committed as version ${count(version)}`)
    this.#read()
  }
}

/** What a name means now, and what it would. */
class CairnChange extends Page {
  static override properties = { item: { attribute: false } }
  declare item: Item
  #before: Loaded<Item | undefined> = LOADING
  #askedFor = ''

  protected override willUpdate(): void {
    if (this.item.id === this.#askedFor) return
    this.#askedFor = this.item.id
    loaded(currentItem(this.item))
      .then((before) => {
        this.#before = before
        this.requestUpdate()
      })
      .catch(() => undefined)
  }

  protected override render(): Part {
    return html`<div class="change">
      <div><h2>Now</h2>${drawn(this.#before, (item) => (item === undefined ? html`<span class="soft">nothing: the name is new</span>` : meaning(item, true)))}</div>
      <div class="arrow">${icon('arrow')}</div>
      <div class="new"><h2>${foreign(this.item.id)} would mean</h2>${meaning(this.item, true)}</div>
    </div>`
  }
}

function meaning(item: Item, isFull = false): Part {
  if ('deleted' in item) return state('off', 'removed')
  if (item.kind === 'name') return address(item.manifest, isFull)
  if (item.kind === 'signer_set')
    return `${item.m} of ${counted(item.signers.length, 'signer')}: ${shown(listed(item.signers.map(({ id }) => id)))}`
  return item.kind
}

function historyRow(
  { version, payload, committed_at: at, approvals }: ArtifactRow,
  name: string,
  isNow: boolean,
): TemplateResult {
  const item = payload.items.find(({ id }) => id === name)
  return html`<li aria-current=${isNow ? 'true' : nothing}>
    <div>
      <strong>Version ${count(version)}</strong> <span class="soft">${ago(at, Date.now())}, by ${foreign(listed(approvals.map(({ signer_id: id }) => id)))}</span>
      <div>${item === undefined ? nothing : meaning(item)}</div>
      ${payload.note === undefined ? nothing : html`<div class="soft">${foreign(payload.note)}</div>`}
    </div>
  </li>`
}

async function registry(): Promise<Registry> {
  const { cairn } = await import('../node-client.ts')
  return cairn.registry
}

/** Names that the versions up to `newest` changed, each by its newest change among them. */
async function namesUpTo(newest: number | undefined): Promise<Names> {
  const top = newest ?? (await askJson<Head>('registry', 'registry/head')).version
  const oldest = Math.max(1, top - VERSIONS + 1)
  const versions = Array.from({ length: Math.max(0, top - oldest + 1) }, (_, at) => top - at)
  const artifacts = await Promise.all(
    versions.map(async (version) => await askJson<ArtifactRow>('registry', `registry/${version}`)),
  )
  const rows = new Map<string, NameRow>()
  for (const { version, payload, committed_at: at, approvals } of artifacts) {
    for (const item of payload.items) {
      if (item.kind !== 'name' || rows.has(item.id)) continue
      rows.set(item.id, {
        name: item.id,
        item,
        version,
        at,
        by: approvals.map(({ signer_id: id }) => id),
        note: payload.note,
      })
    }
  }
  return { rows: [...rows.values()], newest: top, oldest }
}

async function openProposals(): Promise<readonly Proposal[]> {
  const { proposals } = await askJson<{ readonly proposals: readonly { readonly proposal_id: string }[] }>(
    'registry',
    'registry/proposals',
  )
  return await Promise.all(
    proposals.map(async ({ proposal_id: id }) => await askJson<Proposal>('registry', `registry/proposals/${id}`)),
  )
}

async function nameOf(name: string): Promise<Shown> {
  const path = `registry/names/${encodeURIComponent(name)}`
  const { versions } = await askJson<{ readonly versions: readonly number[] }>('registry', `${path}/history`)
  const history = await Promise.all(
    versions.slice(0, VERSIONS).map(async (version) => await askJson<ArtifactRow>('registry', `registry/${version}`)),
  )
  const [last] = history
  const item = last?.payload.items.find(({ id }) => id === name)
  if (last === undefined || item === undefined || 'deleted' in item) return { row: undefined, history }
  return {
    row: {
      name,
      item,
      version: last.version,
      at: last.committed_at,
      by: last.approvals.map(({ signer_id: id }) => id),
      note: last.payload.note,
    },
    history,
  }
}

async function currentItem({ kind, id }: Item): Promise<Item | undefined> {
  if (kind !== 'name') return undefined
  try {
    return (await askJson<{ readonly item: Item }>('registry', `registry/names/${encodeURIComponent(id)}`)).item
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return undefined
    throw error
  }
}

async function checkProof(name: string): Promise<string> {
  const asked = await registry()
  const proof = await asked.proof({ name })
  const verdict = await asked.verify(proof, { trust: await asked.trust() })
  if (verdict.kind === 'refused') throw new Error(verdict.detail)
  return verdict.kind === 'verified' ? 'Proved in this page' : 'Consistent with itself'
}

async function saveProof(name: string): Promise<void> {
  const proof = await (await registry()).proof({ name })
  const url = URL.createObjectURL(new Blob([new Uint8Array(proof)], { type: 'application/octet-stream' }))
  const link = document.createElement('a')
  link.href = url
  link.download = `${name}.proof`
  link.click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

customElements.define('cairn-change', CairnChange)
customElements.define('cairn-names', CairnNames)
