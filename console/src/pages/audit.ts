/** *Audit*: what was let in and turned away, its chain computed again in this page. */
import type { AuditLine } from '@cairn/clients'
import { html, nothing, type TemplateResult } from 'lit'
import { ago, count, counted, exact, shown } from '../format.ts'
import { icon } from '../icons.ts'
import { drawn, empty, foreign, LOADING, type Loaded, Page, type Part, panel, state } from '../parts.ts'
import { askJson } from '../session.ts'

interface AuditPage {
  readonly lines: readonly string[]
  readonly next: number
  readonly first: number
  readonly count: number
  readonly head: string
  readonly anchored: number
}

interface Shown {
  readonly page: AuditPage
  readonly lines: readonly AuditLine[]
  readonly from: number
}

const LINES = 100
const READ_AT_ONCE = 1000

class CairnAudit extends Page {
  #shown: Loaded<Shown> = LOADING
  #verified: Loaded<string> | undefined

  override connectedCallback(): void {
    super.connectedCallback()
    this.#read(undefined)
  }

  #read(from: number | undefined): void {
    this.keep(linesFrom(from), (shown) => (this.#shown = shown))
  }

  protected override render(): Part {
    return panel({
      title: 'Audit of the bridges',
      body: drawn(
        this.#shown,
        (shown) =>
          shown.page.count === 0
            ? empty({
                glyph: 'audit',
                title: 'Nothing was audited yet',
                why: 'Each webhook and each put through interop leaves a line with the hash of the one before.',
              })
            : this.#table(shown),
        () => this.#read(undefined),
      ),
    })
  }

  #table({ page, lines, from }: Shown): TemplateResult {
    const check = (): void => {
      this.#verified = LOADING
      this.requestUpdate()
      this.keep(verifyChain(), (verified) => (this.#verified = verified))
    }
    return html`<div class="panel-body">
        <div class="row">
          <button type="button" class="btn" @click=${check}>${icon('shield')}Verify the chain here</button>
          ${this.#verified === undefined ? html`<span class="proof" data-state="off">${icon('off')}Not checked in this page</span>` : drawn(this.#verified, (said) => html`<span class="proof" data-state="ok">${icon('shield')}${said}</span>`)}
        </div>
        <p class="soft">${counted(page.count, 'line')}; the registry vouches for ${count(page.anchored)} of them. Not checked here: that log itself (<code>cairn audit verify</code> does).</p>
      </div>
      <table class="t fixed list hooks">
        <thead><tr><th scope="col" class="c-time">Time</th><th scope="col" class="c-src">What</th><th scope="col">Event</th><th scope="col">Decision</th></tr></thead>
        <tbody>
          ${lines.map(
            ({ at, action, provider, event, decision, reason }) => html`<tr>
            <td class="soft nowrap"><time datetime=${exact(at)} title=${exact(at)}>${Date.now() - at < 86_400_000 ? exact(at).slice(11, 19) : ago(at, Date.now())}</time></td>
            <td>${action} ${foreign(provider)}</td>
            <td class="clip">${foreign(event)}</td>
            <td>${decision === 'deny' ? state('bad', `refused: ${shown(reason)}`) : state('ok', reason === '' ? 'allowed' : shown(reason))}</td>
          </tr>`,
          )}
        </tbody>
      </table>
      <div class="pager">
        <span>lines ${count(from)}–${count(from + lines.length - 1)} of ${count(page.count)}, newest first</span>
        <button type="button" class="btn small" ?disabled=${from + lines.length > page.count} @click=${() => this.#read(from + LINES)}>Newer</button>
        <button type="button" class="btn small" ?disabled=${from <= page.first} @click=${() => this.#read(Math.max(page.first, from - LINES))}>Older</button>
      </div>${nothing}`
  }
}

async function decoded(lines: readonly string[]): Promise<AuditLine[]> {
  const { decodeAuditLine } = await import('@cairn/clients')
  return lines.map((line) => decodeAuditLine(new TextEncoder().encode(line)))
}

async function linesFrom(cursor: number | undefined): Promise<Shown> {
  const { count: last, first } = await askJson<AuditPage>('interop', 'audit?limit=1')
  const from = cursor ?? Math.max(first, last - LINES + 1)
  const page = await askJson<AuditPage>('interop', `audit?limit=${LINES}&cursor=${Math.max(1, from)}`)
  return { page, lines: (await decoded(page.lines)).reverse(), from }
}

/** Every line there is, each held against the hash in the next. */
async function verifyChain(): Promise<string> {
  const { verifyAudit } = await import('@cairn/clients')
  const lines: Uint8Array[] = []
  let page = await askJson<AuditPage>('interop', `audit?limit=${READ_AT_ONCE}`)
  const { count: last, head } = page
  for (;;) {
    lines.push(...page.lines.map((line) => new TextEncoder().encode(line)))
    if (page.lines.length === 0 || page.next > last) break
    page = await askJson<AuditPage>('interop', `audit?limit=${READ_AT_ONCE}&cursor=${page.next}`)
  }
  const verdict = verifyAudit(lines, [])
  if (verdict.tag === 'broken') throw new Error(`The audit is damaged: line ${verdict.seq} ${verdict.why}.`)
  if (verdict.count === last && verdict.head !== head)
    throw new Error('The last line is not the one the service calls the head.')
  return `Chain of ${counted(lines.length, 'line')} is whole`
}

customElements.define('cairn-audit', CairnAudit)
