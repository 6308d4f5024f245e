/** *Webhooks*: what comes in, what became of it and why, and what could not be delivered. */
import type { AuditLine } from '@cairn/clients'
import { html, nothing, type TemplateResult } from 'lit'
import { ago, bytes, count, counted, exact, shown, span } from '../format.ts'
import { icon } from '../icons.ts'
import { live } from '../live.ts'
import {
  address,
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
import { ask, askJson } from '../session.ts'

interface Hooks {
  readonly providers: readonly {
    readonly provider: string
    readonly enabled: boolean
    readonly secrets: readonly { readonly id: string }[]
  }[]
  readonly rules: readonly { readonly provider: string; readonly event: string; readonly effect: string }[]
}

interface AuditPage {
  readonly lines: readonly string[]
  readonly first: number
  readonly count: number
}

interface DeadLetters {
  readonly topic: string
  readonly messages: readonly {
    readonly id: string
    readonly attempts: number
    readonly sent_at: number
    readonly body: { readonly provider: string; readonly event: string }
  }[]
}

const LINES = 50

class CairnWebhooks extends Page {
  static override properties = { rest: { attribute: false } }
  declare rest: string
  #hooks: Loaded<Hooks> = LOADING
  #tail: Loaded<readonly AuditLine[]> = LOADING
  #dead: Loaded<readonly DeadLetters[]> = LOADING
  #body: Loaded<string> | undefined
  #isPaused = false
  #shownSeq = 0
  readonly #onHeard = (event: Event): void => {
    const { service, topic } = (event as CustomEvent<{ readonly service: string; readonly topic: string }>).detail
    if (service === 'interop' && topic === 'audit.event' && !this.#isPaused) this.#readTail()
  }

  override connectedCallback(): void {
    super.connectedCallback()
    live.addEventListener('heard', this.#onHeard)
    this.keep(askJson<Hooks>('interop', 'webhooks'), (hooks) => {
      this.#hooks = hooks
      if (hooks.tag === 'loaded') this.#readDead(hooks.value)
    })
    this.#readTail()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    live.removeEventListener('heard', this.#onHeard)
  }

  #readTail(): void {
    this.keep(newest(), (tail) => (this.#tail = tail))
  }

  #readDead({ rules }: Hooks): void {
    const topics = [
      ...new Set(
        rules.flatMap(({ effect }) => (effect.startsWith('mailbox:') ? [effect.slice('mailbox:'.length)] : [])),
      ),
    ]
    const each = topics.map(async (topic) => {
      const { messages } = await askJson<Omit<DeadLetters, 'topic'>>(
        'interop',
        `mailbox/${encodeURIComponent(topic)}/dead`,
      )
      return { topic, messages }
    })
    this.keep(Promise.all(each), (dead) => (this.#dead = dead))
  }

  protected override willUpdate(): void {
    const seq = Number(this.rest)
    if (seq === this.#shownSeq) return
    this.#shownSeq = seq
    this.#body = undefined
  }

  protected override render(): Part {
    const line = this.#tail.tag === 'loaded' ? this.#tail.value.find(({ seq }) => seq === this.#shownSeq) : undefined
    return html`${line === undefined ? nothing : this.#detail(line)} ${this.#tailPanel()}
      <div class="cols">${this.#sources()} ${this.#deadLetters()}</div>`
  }

  #tailPanel(): TemplateResult {
    return panel({
      title: 'Tail',
      meta: html`<button type="button" class="btn quiet small" aria-pressed=${String(this.#isPaused)} @click=${() => {
        this.#isPaused = !this.#isPaused
        if (!this.#isPaused) this.#readTail()
        this.requestUpdate()
      }}>${icon('pause')}${this.#isPaused ? 'Paused' : 'Pause'}</button>`,
      body: drawn(
        this.#tail,
        (lines) =>
          lines.length === 0
            ? empty({
                glyph: 'hooks',
                title: 'No webhook has come yet',
                why: 'Each one that comes shows here with the verdict on it and its reason, also those that were refused.',
                command: 'cairn hook add github --generate',
              })
            : html`<table class="t fixed list hooks">
                <thead><tr><th scope="col" class="c-time">Time</th><th scope="col" class="c-src">Source</th><th scope="col">Event</th><th scope="col">Verdict</th></tr></thead>
                <tbody>${lines.map((line) => this.#row(line))}</tbody>
              </table>`,
        () => this.#readTail(),
      ),
    })
  }

  #row({ seq, at, provider, event, action, decision, reason }: AuditLine): TemplateResult {
    return html`<tr aria-selected=${seq === this.#shownSeq}>
      <td class="soft nowrap"><time datetime=${exact(at)} title=${exact(at)}>${exact(at).slice(11, 19)}</time></td>
      <td><a class="name" href=${`#/webhooks/${seq}`}>${foreign(provider === '' ? action : provider)}</a></td>
      <td class="clip">${foreign(event)}</td>
      <td>${verdict(decision, reason)}</td>
    </tr>`
  }

  #detail(line: AuditLine): TemplateResult {
    const { seq, at, provider, event, delivery, decision, reason, b3, secret, corr_id: corrId } = line
    return panel({
      title: `Line ${count(seq)} of the audit`,
      meta: html`<a href="#/webhooks">Close</a>`,
      body: html`<div class="panel-body">
        ${facts([
          ['Verdict', verdict(decision, reason)],
          ['Came', html`<time datetime=${exact(at)}>${exact(at)}</time>, ${ago(at, Date.now())}`],
          ['Source', foreign(provider)],
          ['Event', foreign(event)],
          ['Delivery', html`<code>${shown(delivery)}</code>`],
          ['Secret', secret === '' ? 'none fitted' : html`<code>${shown(secret)}</code>`],
          ['Request', html`<code>${shown(corrId)}</code>`],
          ['Body', b3 === null ? 'not kept: it was refused' : address(b3, true)],
        ])}
        ${b3 === null ? nothing : this.#bodyPart(b3)}
      </div>`,
    })
  }

  #bodyPart(b3: string): Part {
    if (this.#body !== undefined) return drawn(this.#body, (text) => html`<pre class="code">${text}</pre>`)
    const show = (): void => {
      this.#body = LOADING
      this.requestUpdate()
      this.keep(bodyText(b3), (body) => (this.#body = body))
    }
    return html`<div class="row"><button type="button" class="btn" @click=${show}>${icon('file')}Show body</button></div>`
  }

  #sources(): TemplateResult {
    return panel({
      title: 'Sources and rules',
      body: drawn(
        this.#hooks,
        ({ providers, rules }) => html`<div class="panel-body">
          ${facts(providers.map(({ provider, enabled, secrets }) => [provider, enabled ? state('ok', `on, ${counted(secrets.length, 'secret')}`) : state('off', 'off')]))}
          ${rules.length === 0 ? html`<p class="soft">No rule says what to do with a webhook.</p>` : html`<ul class="stack tight">${rules.map(({ provider, event, effect }) => html`<li>${foreign(provider)} <span class="soft">${foreign(event)}</span> ${icon('arrow')} <code>${shown(effect)}</code></li>`)}</ul>`}
        </div>`,
      ),
    })
  }

  #deadLetters(): TemplateResult {
    return panel({
      title: 'Dead letters',
      body: drawn(this.#dead, (topics) => {
        const full = topics.filter(({ messages }) => messages.length > 0)
        if (full.length === 0)
          return empty({
            glyph: 'ok',
            title: 'None',
            why: `A message that was delivered as often as it may be and never acknowledged waits here. ${topics.length === 0 ? 'No rule fills a mailbox.' : `Looked at: ${topics.map(({ topic }) => topic).join(', ')}.`}`,
          })
        return html`${full.map(({ topic, messages }) => this.#deadTopic(topic, messages))}`
      }),
    })
  }

  #deadTopic(topic: string, messages: DeadLetters['messages']): TemplateResult {
    return html`<div class="rows">
      <div class="row"><strong>${foreign(topic)}</strong> ${counted(messages.length, 'message')}
        <button type="button" class="btn small" @click=${this.run(async () => await this.#replay(topic))}>${icon('replay')}Replay ${shown(topic)}</button></div>
      ${messages.slice(0, 20).map(({ id, attempts, sent_at: at, body }) => html`<div>${foreign(body.provider)} ${foreign(body.event)} <span class="soft">tried ${counted(attempts, 'time')}, ${span(Date.now() - at, 1)} old</span> <code>${shown(id)}</code></div>`)}
    </div>`
  }

  async #replay(topic: string): Promise<void> {
    await ask('interop', `mailbox/${encodeURIComponent(topic)}/replay`, { method: 'POST', json: {} })
    toast('ok', `Dead letters of ${topic} are delivered again`)
    if (this.#hooks.tag === 'loaded') this.#readDead(this.#hooks.value)
  }
}

function verdict(decision: AuditLine['decision'], reason: string): TemplateResult {
  if (decision === 'deny') return state('bad', `refused: ${shown(reason)}`)
  return reason === '' ? state('ok', 'accepted') : state('off', shown(reason))
}

/** The last lines of the audit, newest first. */
async function newest(): Promise<readonly AuditLine[]> {
  const { decodeAuditLine } = await import('@cairn/clients')
  const { count: last, first } = await askJson<AuditPage>('interop', 'audit?limit=1')
  if (last === 0) return []
  const from = Math.max(first, last - LINES + 1)
  const { lines } = await askJson<AuditPage>('interop', `audit?limit=${LINES}&cursor=${from}`)
  return lines.map((line) => decodeAuditLine(new TextEncoder().encode(line))).reverse()
}

const BODY_MAX = 20_000

async function bodyText(b3: string): Promise<string> {
  const { cairn } = await import('../node-client.ts')
  const whole = await new Response(cairn.get(b3)).arrayBuffer()
  const text = new TextDecoder().decode(whole)
  return whole.byteLength > BODY_MAX ? `${text.slice(0, BODY_MAX)}\n… ${bytes(whole.byteLength)} in all` : text
}

customElements.define('cairn-webhooks', CairnWebhooks)
