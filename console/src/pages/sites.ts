/** *Sites and maps*: names that are served as websites, and packs of tiles. */
import { html, type TemplateResult } from 'lit'
import { shown } from '../format.ts'
import { live } from '../live.ts'
import { drawn, empty, foreign, LOADING, type Loaded, Page, type Part, panel, state } from '../parts.ts'
import { askJson } from '../session.ts'

interface KeyRow {
  readonly key: string
  readonly value?: unknown
}

interface Packs {
  readonly packs: readonly {
    readonly name: string
    readonly path: string
    readonly state: 'mounted' | 'failed' | 'opening'
    readonly why: string | null
  }[]
}

class CairnSites extends Page {
  #keys: Loaded<readonly KeyRow[]> = LOADING
  #packs: Loaded<Packs> = LOADING

  override connectedCallback(): void {
    super.connectedCallback()
    this.keep(askJson<readonly KeyRow[]>('node', 'admin/config'), (keys) => (this.#keys = keys))
    this.keep(askJson<Packs>('edge', 'edge/admin/packs'), (packs) => (this.#packs = packs))
  }

  protected override render(): Part {
    return html`${panel({ title: 'Sites', body: drawn(this.#keys, sitesPart) })} ${panel({ title: 'Maps', body: drawn(this.#packs, packsPart) })}`
  }
}

function sitesPart(keys: readonly KeyRow[]): Part {
  const prefix = 'edge.sites'
  const sites = keys.flatMap(({ key, value }): [string, string][] => {
    if (key === prefix && typeof value === 'object' && value !== null)
      return Object.entries(value).map(([site, name]) => [site, String(name)])
    return key.startsWith(`${prefix}.`) ? [[key.slice(prefix.length + 1), String(value)]] : []
  })
  if (sites.length === 0)
    return empty({
      glyph: 'sites',
      title: 'No site has an origin of its own',
      why: 'A committed name is served by the edge at once; with an entry in [edge.sites] it gets a host of its own, where its scripts run.',
    })
  const port = new URL(
    live.now?.status.services.find(({ name }) => name === 'edge')?.urls[0] ?? 'http://localhost:7074',
  ).port
  return html`<table class="t">
    <thead><tr><th scope="col">Site</th><th scope="col">Shows</th><th scope="col">Address</th></tr></thead>
    <tbody>${sites.map(([site, name]) => siteRow(site, name, `http://${site}.localhost:${port}/`))}</tbody>
  </table>`
}

function siteRow(site: string, name: string, url: string): TemplateResult {
  return html`<tr>
    <td class="main-cell">${foreign(site)}</td>
    <td data-label="Shows"><a href=${`#/names/${encodeURIComponent(name)}`}>${foreign(name)}</a></td>
    <td data-label="Address"><a href=${url} target="_blank" rel="noopener noreferrer">${url}</a></td>
  </tr>`
}

const PACK_STATES = {
  mounted: { kind: 'ok', word: 'Served' },
  failed: { kind: 'bad', word: 'Not served' },
  opening: { kind: 'work', word: 'Opening' },
} as const

function packsPart({ packs }: Packs): Part {
  if (packs.length === 0)
    return empty({
      glyph: 'sites',
      title: 'No map is served',
      why: 'A pack of tiles (PMTiles or MBTiles) is served as TileJSON and tiles.',
      command: 'cairn pack add world world.pmtiles',
    })
  return html`<table class="t">
    <thead><tr><th scope="col">Pack</th><th scope="col">State</th><th scope="col">File</th></tr></thead>
    <tbody>
      ${packs.map(
        (pack) => html`<tr>
        <td class="main-cell">${foreign(pack.name)}</td>
        <td data-label="State">${state(PACK_STATES[pack.state].kind, PACK_STATES[pack.state].word)} <span class="soft">${shown(pack.why ?? '')}</span></td>
        <td data-label="File"><code>${shown(pack.path)}</code></td>
      </tr>`,
      )}
    </tbody>
  </table>`
}

customElements.define('cairn-sites', CairnSites)
