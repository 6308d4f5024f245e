/** *Now*: whether the node is well, and why not. */
import { html, nothing, type TemplateResult } from 'lit'
import { told } from '../events.ts'
import { ago, count, counted, exact, listed, millis, shown } from '../format.ts'
import { icon } from '../icons.ts'
import { type LiveEvent, live, type NodeNow, type QueueFacts, type ServiceStatus, type TrafficReport } from '../live.ts'
import {
  bar,
  drawn,
  empty,
  facts,
  LOADING,
  type Loaded,
  loaded,
  Page,
  type Part,
  panel,
  type State,
  spark,
  state,
  statusLine,
} from '../parts.ts'
import { askJson } from '../session.ts'

interface Copies {
  readonly objects: number
  readonly full: number
  readonly under: number
  readonly single: number
  readonly lost: number
  readonly proved: number | null
  readonly away: readonly string[]
}

interface Durability {
  readonly target_copies: number
  readonly observed_copies: number | null
  readonly objects: { readonly sound: number; readonly damaged: number } | null
  readonly collection: { readonly blocked_by: string | null }
  readonly scrub: {
    readonly state: 'waiting' | 'reading'
    readonly coverage: number
    readonly age_ms: number | null
    readonly damaged_count: number
    readonly completed_at: number | null
  }
  readonly repairs: { readonly pending: number }
  readonly copies?: Copies | null
  readonly drive?: { readonly writable: boolean; readonly why: string; readonly stalled: boolean }
}

const REFRESH_MS = 10_000
const EVENTS_SHOWN = 12
/** From here on a queue is near its end. */
const NEARLY_FULL = 0.8

class CairnNow extends Page {
  #durability: Loaded<Durability> = LOADING
  #timer: ReturnType<typeof setInterval> | undefined
  readonly #onChange = (): void => this.requestUpdate()

  override connectedCallback(): void {
    super.connectedCallback()
    live.addEventListener('changed', this.#onChange)
    this.#timer = setInterval(() => {
      if (document.visibilityState === 'visible') this.#read()
    }, REFRESH_MS)
    this.#read()
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback()
    live.removeEventListener('changed', this.#onChange)
    clearInterval(this.#timer)
  }

  #read(): void {
    loaded(askJson<Durability>('storage', 'admin/durability'))
      .then((durability) => {
        this.#durability = durability
        this.requestUpdate()
      })
      .catch(() => undefined)
  }

  protected override render(): Part {
    const { now } = live
    if (now === undefined) return nothing
    return html`${headline(now, this.#durability)} ${servicesPanel(now)}
      <div class="cols three">
        ${panel({ title: 'Copies', body: drawn(this.#durability, copiesBody, () => this.#read()) })} ${queuesPanel(now.queues)}
        ${dataPanel(now)}
      </div>
      ${eventsPanel(live.events)}`
  }
}

const WORST_SHOWN = 3

/** The worst first, at most three; without trouble one sentence that says so. */
function headline({ status, queues }: NodeNow, durability: Loaded<Durability>): TemplateResult[] {
  const troubles = [...status.services.flatMap(troublesOf), ...queues.filter(isFull).map(fullQueue)]
  const bad = troubles.filter(({ kind }) => kind === 'bad')
  const sorted = [...bad, ...troubles.filter(({ kind }) => kind === 'warn')]
  if (sorted.length === 0) {
    const names = status.services.length
    const title = names === 0 ? 'The node runs, without any service.' : `All ${spelled(names)} services are healthy.`
    return [statusLine({ kind: 'ok', title, why: copiesSentence(durability) })]
  }
  const more = sorted.length - WORST_SHOWN
  return [
    ...sorted.slice(0, WORST_SHOWN).map(statusLine),
    ...(more > 0 ? [html`<p class="meta">and ${count(more)} more, in the table below</p>`] : []),
  ]
}

interface Trouble {
  readonly kind: 'bad' | 'warn'
  readonly title: string
  readonly why: string
}

function troublesOf({ name, ready, missing, concerns }: ServiceStatus): Trouble[] {
  const what = `The ${name} service`
  if (!ready)
    return [
      {
        kind: 'bad',
        title: `${what} is not ready.`,
        why: `It waits for ${shown(listed(missing)) || 'something it does not name'}.`,
      },
    ]
  return concerns.map((concern) => ({ kind: 'warn' as const, title: `${what} is degraded.`, why: shown(concern) }))
}

function isFull({ waiting, room }: QueueFacts): boolean {
  return room > 1 && waiting >= room
}

function fullQueue({ service, name, waiting, room }: QueueFacts): Trouble {
  const why = `${count(waiting)} of ${count(room)} wait in the queue ${name}. What comes now is refused with a time to try again; nothing accepted is lost.`
  return { kind: 'bad', title: `The ${service} service refuses work: a queue is full.`, why }
}

const WORDS = ['no', 'one', 'two', 'three', 'four', 'five', 'six'] as const

function spelled(value: number): string {
  return WORDS[value] ?? count(value)
}

function copiesSentence(durability: Loaded<Durability>): string {
  if (durability.tag !== 'loaded') return ''
  const { target_copies: wanted, observed_copies: seen, copies } = durability.value
  if (copies !== undefined && copies !== null)
    return `${counted(copies.full, 'object has', 'objects have')} all ${spelled(wanted)} copies.`
  if (wanted === 1) return 'There is one copy of everything: this node has one drive and no peers for copies.'
  return seen === null ? `${spelled(wanted)} copies are wanted; none was read and proved yet.` : ''
}

function servicesPanel({ status, traffic }: NodeNow): TemplateResult {
  return panel({
    title: 'Services',
    meta: 'last 15 minutes',
    body: html`<table class="t metrics">
      <thead>
        <tr>
          <th scope="col">Service</th>
          <th scope="col">Health</th>
          <th scope="col">Why</th>
          <th scope="col" class="w-spark">Requests</th>
          <th scope="col" class="num">in all</th>
          <th scope="col" class="num">Errors</th>
          <th scope="col" class="num">p50</th>
          <th scope="col" class="num">p99</th>
        </tr>
      </thead>
      <tbody>
        ${status.services.map((service) => serviceRow(service, traffic))}
        ${status.elsewhere.map(
          ({ name, url, ready, why }) => html`<tr>
            <td class="main-cell">${name}</td>
            <td data-label="Health">${ready ? state('ok', 'Healthy') : state('bad', 'Away')}</td>
            <td data-label="Why" class="soft" colspan="6">${ready ? `in another process, at ${url}` : shown(why)}</td>
          </tr>`,
        )}
      </tbody>
    </table>`,
  })
}

function serviceRow(service: ServiceStatus, traffic: readonly TrafficReport[]): TemplateResult {
  const { name, ready, missing, concerns, notices = [], summary } = service
  const [kind, word]: [State, string] = ready
    ? concerns.length > 0
      ? ['warn', 'Degraded']
      : ['ok', 'Healthy']
    : ['bad', 'Not ready']
  const why = ready
    ? [...concerns, ...notices, ...(concerns.length > 0 ? [] : [summary])]
    : [`waits for ${listed(missing)}`]
  const spent = traffic.find(({ service: other }) => other === name)
  const requests = spent?.requests ?? 0
  return html`<tr>
    <td class="main-cell">${name}</td>
    <td data-label="Health">${state(kind, word)}</td>
    <td data-label="Why" class="soft">${why.map((line) => html`<div>${shown(line)}</div>`)}</td>
    <td data-label="15 min">${spark(spent?.rates ?? [], `${counted(requests, 'request')} in 15 minutes`)}</td>
    <td class="num" data-label="Requests">${count(requests)}</td>
    <td class="num" data-label="Errors">${count(spent?.errors ?? 0)}</td>
    <td class="num" data-label="p50">${millis(spent?.p50_ms)}</td>
    <td class="num" data-label="p99">${millis(spent?.p99_ms)}</td>
  </tr>`
}

function copiesBody(durability: Durability): TemplateResult {
  const { target_copies: wanted, copies, objects, repairs, scrub, collection } = durability
  const rows: (readonly [string, Part])[] = [
    ['Wanted', wanted === 1 ? 'one copy' : `${spelled(wanted)} copies`],
    ['Repair', repairs.pending === 0 ? 'nothing waits' : `${counted(repairs.pending, 'object')} to copy`],
    ['Scrub', scrubText(scrub)],
    ['Damage', scrub.damaged_count === 0 ? 'none found' : state('bad', counted(scrub.damaged_count, 'damaged object'))],
    ['Collection', collection.blocked_by === null ? 'runs' : state('warn', shown(collection.blocked_by))],
  ]
  const chart = copies === undefined || copies === null ? nothing : copiesBar(copies, wanted)
  const known =
    objects === null
      ? nothing
      : html`<p class="soft">${counted(objects.sound, 'object')} read and proved by the last scrub.</p>`
  return html`<div class="panel-body">${chart}${facts(rows)}${known}</div>`
}

function copiesBar({ objects, full, under, single, lost }: Copies, wanted: number): TemplateResult {
  const label = `${count(full)} of ${counted(objects, 'object')} have all copies`
  const rest = Math.max(0, under - single)
  return html`${bar(
    objects,
    [{ size: full }, { size: rest, kind: 'warn' }, { size: single, kind: 'bad' }],
    label,
    true,
  )}
    <div class="legend">
      <span><svg class="swatch" viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1" /></svg>${wanted} copies ${count(full)}</span>
      ${rest > 0 ? html`<span>${state('warn', `fewer ${count(rest)}`)}</span>` : nothing}
      ${single > 0 ? html`<span>${state('bad', `one copy ${count(single)}`)}</span>` : nothing}
      ${lost > 0 ? html`<span>${state('bad', `not readable ${count(lost)}`)}</span>` : nothing}
    </div>`
}

function scrubText({ state: doing, coverage, age_ms: age }: Durability['scrub']): string {
  const share = `${Math.floor(coverage * 100)} % read`
  if (doing === 'reading') return `reading, ${share}`
  return age === null ? 'not yet' : `${share}, ${ago(Date.now() - age, Date.now())}`
}

function queuesPanel(queues: readonly QueueFacts[]): TemplateResult {
  const sorted = queues
    .filter(({ room }) => room > 1)
    .toSorted((one, other) => other.waiting / other.room - one.waiting / one.room)
  const busy = sorted.filter(({ waiting }) => waiting > 0).length
  return panel({
    title: 'Queues',
    meta: 'waiting / room',
    body: html`<div class="panel-body">
      <p class="soft">${busy === 0 ? `Nothing waits in any of the ${count(sorted.length)} queues.` : `Something waits in ${spelled(busy)} of ${count(sorted.length)}.`}</p>
      <div>${sorted.slice(0, 6).map(queueRow)}</div>
    </div>`,
  })
}

function queueRow(queue: QueueFacts): TemplateResult {
  const { service, name, waiting, room } = queue
  const kind = isFull(queue) ? 'bad' : waiting >= room * NEARLY_FULL ? 'warn' : 'ok'
  const label = `${service} ${name}`
  return html`<div class="queue" data-state=${kind}>
    <span class="clip" title=${label}>${label}</span>
    ${bar(room, [{ size: waiting, kind: kind === 'ok' ? '' : kind }], `${count(waiting)} of ${count(room)}`)}
    <span class="num">${count(waiting)} / ${count(room)}</span>
  </div>`
}

function dataPanel({ status, started_at: startedAt }: NodeNow): TemplateResult {
  const { data, kept, services } = status
  return panel({
    title: 'Data',
    body: html`<div class="panel-body">
      ${facts([
        ['Where', kept ? html`<code>${shown(data)}</code>` : state('warn', 'in memory: nothing survives a stop')],
        [
          'Started',
          html`<time datetime=${exact(startedAt)} title=${exact(startedAt)}>${ago(startedAt, Date.now())}</time>`,
        ],
        ...services.flatMap(({ name, urls }) =>
          urls.filter((url) => url.startsWith('http')).map((url) => [name, html`<code>${url}</code>`] as const),
        ),
      ])}
    </div>`,
  })
}

function eventsPanel(events: readonly LiveEvent[]): TemplateResult {
  return panel({
    title: 'Recent events',
    body:
      events.length === 0
        ? empty({
            glyph: 'wait',
            title: 'Nothing has happened yet',
            why: 'Uploads, releases, webhooks and repairs show here as they happen.',
          })
        : html`<div class="panel-body"><ol class="events">${events.slice(0, EVENTS_SHOWN).map(eventRow)}</ol></div>`,
  })
}

function eventRow(event: LiveEvent): TemplateResult {
  const { at } = event
  const when =
    at === null
      ? html`<time>earlier</time>`
      : html`<time datetime=${exact(at)} title=${exact(at)}>${ago(at, Date.now())}</time>`
  const { glyph, kind, text } = told(event)
  return html`<li>${when}<span data-state=${kind}>${icon(glyph)}</span><span>${text}</span></li>`
}

customElements.define('cairn-now', CairnNow)
