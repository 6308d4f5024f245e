/** *Cluster*: where copies are, who answers, and the work in the background. */
import { html, type TemplateResult } from 'lit'
import { ago, count, counted, shown } from '../format.ts'
import { icon } from '../icons.ts'
import { drawn, empty, facts, foreign, LOADING, type Loaded, Page, type Part, panel, state, toast } from '../parts.ts'
import { ask, askJson } from '../session.ts'

interface Place {
  readonly id: string
  readonly kind: 'drive' | 'peer'
  readonly node: string
  readonly domain: string
  readonly region: string
  readonly state: 'up' | 'unwritable' | 'down'
  readonly why: string
}

interface Durability {
  readonly target_copies: number
  readonly targets: number
  readonly repairs: { readonly pending: number }
  readonly scrub: {
    readonly state: 'waiting' | 'reading'
    readonly coverage: number
    readonly completed_at: number | null
    readonly damaged_count: number
  }
  readonly places?: readonly Place[]
}

interface Peers {
  readonly peers: readonly { readonly id: string; readonly addresses: readonly string[]; readonly connected: boolean }[]
}

class CairnCluster extends Page {
  #durability: Loaded<Durability> = LOADING
  #peers: Loaded<Peers> = LOADING

  override connectedCallback(): void {
    super.connectedCallback()
    this.#read()
  }

  #read(): void {
    this.keep(askJson<Durability>('storage', 'admin/durability'), (durability) => (this.#durability = durability))
    this.keep(askJson<Peers>('index', 'peers'), (peers) => (this.#peers = peers))
  }

  protected override render(): Part {
    return html`${panel({ title: 'Places for copies', body: drawn(this.#durability, placesPart, () => this.#read()) })}
      <div class="cols">
        ${panel({ title: 'Background work', body: drawn(this.#durability, (durability) => this.#work(durability)) })}
        ${panel({ title: 'Peers for lookups', body: drawn(this.#peers, peersPart, () => this.#read()) })}
      </div>`
  }

  #work({ repairs, scrub, target_copies: wanted }: Durability): TemplateResult {
    const begin = (path: string, said: string): (() => void) =>
      this.run(async () => {
        await ask('storage', path, { method: 'POST' })
        toast('ok', said)
        this.#read()
      })
    return html`<div class="panel-body">
      ${facts([
        ['Copies', `${count(wanted)} wanted of each object`],
        ['Repair', repairs.pending === 0 ? 'nothing waits' : `${counted(repairs.pending, 'object')} to copy`],
        [
          'Scrub',
          `${scrub.state === 'reading' ? 'reading' : 'waiting'}, ${Math.floor(scrub.coverage * 100)} % read${scrub.completed_at === null ? '' : `, ended ${ago(scrub.completed_at, Date.now())}`}`,
        ],
        [
          'Damage',
          scrub.damaged_count === 0 ? 'none found' : state('bad', counted(scrub.damaged_count, 'damaged object')),
        ],
      ])}
      <div class="row">
        <button type="button" class="btn" @click=${begin('admin/scrub', 'A scrub has begun')}>${icon('shield')}Start scrub</button>
        <button type="button" class="btn" @click=${begin('admin/repair', 'Repairs are planned')}>${icon('replay')}Plan repairs</button>
      </div>
    </div>`
  }
}

const STATES = {
  up: { kind: 'ok', word: 'Up' },
  unwritable: { kind: 'warn', word: 'Read only' },
  down: { kind: 'bad', word: 'Down' },
} as const

function placesPart({ places = [], targets }: Durability): Part {
  if (places.length === 0)
    return empty({
      glyph: 'cluster',
      title: targets > 1 ? 'No place has been looked at yet' : 'One drive, and no other node',
      why: 'Everything is here once. A second drive or a storage peer in the configuration is a place for copies.',
      command: 'cairn config print --origin',
    })
  return html`<table class="t">
    <thead><tr><th scope="col">Place</th><th scope="col">Kind</th><th scope="col">State</th><th scope="col">Node</th><th scope="col">Region</th></tr></thead>
    <tbody>
      ${places.map(
        (place) => html`<tr>
        <td class="main-cell">${foreign(place.id)}</td>
        <td data-label="Kind">${place.kind}</td>
        <td data-label="State">${state(STATES[place.state].kind, STATES[place.state].word)} <span class="soft">${shown(place.why)}</span></td>
        <td data-label="Node" class="soft">${foreign(place.node)}</td>
        <td data-label="Region" class="soft">${foreign(place.region)}</td>
      </tr>`,
      )}
    </tbody>
  </table>`
}

function peersPart({ peers }: Peers): Part {
  if (peers.length === 0)
    return empty({
      glyph: 'cluster',
      title: 'Knows no peers',
      why: 'This node looks names and addresses up by itself; it joins others when the index is given some.',
    })
  return html`<div class="rows">${peers.map(({ id, addresses, connected }) => html`<div>${connected ? state('ok', 'connected') : state('off', 'not connected')} <code>${shown(id)}</code><div class="meta">${addresses.map(shown).join(', ')}</div></div>`)}</div>`
}

customElements.define('cairn-cluster', CairnCluster)
