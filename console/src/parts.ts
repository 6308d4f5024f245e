/** The parts that pages are made of. */
import { html, LitElement, nothing, svg, type TemplateResult } from 'lit'
import { shown } from './format.ts'
import { type IconName, icon } from './icons.ts'
import { whyOf } from './session.ts'

export type State = 'ok' | 'warn' | 'bad' | 'wait' | 'work' | 'off'
export type Part = TemplateResult | typeof nothing | string

/** A page draws into the document itself, under the one style sheet; what changes asks for the next drawing. */
export abstract class Page extends LitElement {
  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override connectedCallback(): void {
    super.connectedCallback()
    // No box of its own: its parts are laid out by the page.
    this.dataset['page'] = ''
  }

  /** Draws again once the answer, or why there is none, was taken. */
  protected keep<T>(work: Promise<T>, take: (value: Loaded<T>) => unknown): void {
    loaded(work)
      .then((value) => {
        take(value)
        this.requestUpdate()
      })
      .catch(() => undefined)
  }

  /** Runs what a click began; what goes wrong is drawn by `failed`. */
  protected run(work: () => Promise<void>): () => void {
    return () => {
      work()
        .catch((error: unknown) => toast('bad', whyOf(error)))
        .finally(() => this.requestUpdate())
    }
  }
}

/** What was asked for: nothing yet, an answer, or why there is none. */
export type Loaded<T> =
  | { readonly tag: 'loading' }
  | { readonly tag: 'loaded'; readonly value: T }
  | { readonly tag: 'failed'; readonly why: string }

export const LOADING = { tag: 'loading' } as const

export async function loaded<T>(work: Promise<T>): Promise<Loaded<T>> {
  try {
    return { tag: 'loaded', value: await work }
  } catch (error) {
    return { tag: 'failed', why: whyOf(error) }
  }
}

/** Draws an answer, or the state of the asking. */
export function drawn<T>(asked: Loaded<T>, draw: (value: T) => Part, retry?: () => void): Part {
  if (asked.tag === 'loaded') return draw(asked.value)
  if (asked.tag === 'loading') return skeleton()
  return failure(asked.why, retry)
}

function skeleton(): TemplateResult {
  return html`<div class="skeleton late-in" aria-busy="true" aria-label="Loading"><svg viewBox="0 0 300 76" preserveAspectRatio="none" aria-hidden="true"><rect width="210" height="12" rx="3" y="4"/><rect width="270" height="12" rx="3" y="32"/><rect width="150" height="12" rx="3" y="60"/></svg></div>`
}

function failure(why: string, retry?: () => void): TemplateResult {
  return html`<div class="empty" data-state="bad" role="alert">
    <h3>${icon('bad')}This could not be read</h3>
    <p>${shown(why)}</p>
    ${retry === undefined ? nothing : html`<button type="button" class="btn" @click=${retry}>Try again</button>`}
  </div>`
}

export interface EmptyOptions {
  readonly glyph: IconName
  readonly title: string
  readonly why: string
  readonly command?: string
  readonly action?: Part
}

export function empty({ glyph, title, why, command, action }: EmptyOptions): TemplateResult {
  return html`<div class="empty">
    <h3>${icon(glyph)}${title}</h3>
    <p>${why}</p>
    ${action ?? nothing} ${command === undefined ? nothing : commandLine(command)}
  </div>`
}

const GLYPHS: Readonly<Record<State, IconName>> = {
  ok: 'ok',
  warn: 'warn',
  bad: 'bad',
  wait: 'wait',
  work: 'work',
  off: 'off',
}

export function state(kind: State, word: string): TemplateResult {
  return html`<span class="state" data-state=${kind}>${icon(GLYPHS[kind])}${word}</span>`
}

export interface StatusOptions {
  readonly kind: 'ok' | 'warn' | 'bad' | 'wait'
  readonly title: string
  readonly why?: Part
  readonly actions?: Part
  readonly glyph?: IconName
}

/** One sentence, the line of why, and what to do. */
export function statusLine({ kind, title, why, actions, glyph }: StatusOptions): TemplateResult {
  return html`<div class="status" data-state=${kind} role=${kind === 'bad' ? 'alert' : 'status'}>
    ${icon(glyph ?? GLYPHS[kind])}
    <div>
      <p><strong>${title}</strong></p>
      ${why === undefined || why === '' ? nothing : html`<p>${why}</p>`}
    </div>
    ${actions === undefined ? nothing : html`<div class="row">${actions}</div>`}
  </div>`
}

export interface PanelOptions {
  readonly title: string
  readonly meta?: Part
  readonly body: Part
}

export function panel({ title, meta, body }: PanelOptions): TemplateResult {
  return html`<section class="panel">
    <div class="panel-head">
      <h2>${title}</h2>
      ${meta === undefined ? nothing : html`<span class="meta">${meta}</span>`}
    </div>
    ${body}
  </section>`
}

export function facts(rows: readonly (readonly [string, Part])[]): TemplateResult {
  return html`<dl class="kv">${rows.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`
}

/** Foreign text: set apart, and with nothing in it that could turn what follows. */
export function foreign(text: string): TemplateResult {
  return html`<bdi>${shown(text)}</bdi>`
}

/** A bar of parts against a whole; each part has a class of its own. */
export function bar(
  whole: number,
  parts: readonly { readonly size: number; readonly kind?: string }[],
  label: string,
  isTall = false,
): TemplateResult {
  const scale = whole > 0 ? 1000 / whole : 0
  let at = 0
  const rects = parts.map(({ size, kind = '' }) => {
    const [x, width] = [at, Math.min(1000 - at, size * scale)]
    at += width
    return svg`<rect x=${x.toFixed(1)} width=${Math.max(0, width).toFixed(1)} height="1" class=${kind} />`
  })
  return html`<svg class=${isTall ? 'bar tall' : 'bar'} viewBox="0 0 1000 1" preserveAspectRatio="none" role="img" aria-label=${label}>${rects}</svg>`
}

/** A line of 15 minutes on its own scale. */
export function spark(values: readonly number[], label: string): TemplateResult {
  const [width, height, top] = [100, 24, Math.max(...values, 1)]
  const step = values.length > 1 ? width / (values.length - 1) : 0
  const points = values.map(
    (value, at) => `${(at * step).toFixed(1)} ${(height - 1 - (value / top) * (height - 4)).toFixed(1)}`,
  )
  if (points.length < 2)
    return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${label}><path class="grid" d="M0 23H100"/></svg>`
  const line = `M${points.join('L')}`
  return html`<svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${label}><path class="area" d=${`${line}L100 24L0 24Z`}/><path d=${line}/></svg>`
}

/** `b3:6f1c…9a2e` with a button that copies all of it. */
export function address(text: string, isFull = false): TemplateResult {
  const digits = text.startsWith('b3:') ? text.slice(3) : text
  const brief = isFull || digits.length <= 16 ? digits : `${digits.slice(0, 8)}…${digits.slice(-4)}`
  return html`<span class=${isFull ? 'addr full' : 'addr'} title=${text}
    ><code>${text.startsWith('b3:') ? html`<i>b3:</i>` : nothing}${brief}</code>${copyButton(text, `Copy ${text}`, '')}</span
  >`
}

export function commandLine(command: string): TemplateResult {
  return html`<div class="cmd"><code>${command}</code>${copyButton(command, 'Copy command', 'btn quiet small')}</div>`
}

function copyButton(text: string, label: string, kind: string): TemplateResult {
  return html`<button
    type="button"
    class=${kind}
    aria-label=${label}
    @click=${(event: Event) => copy(event, text)}
  >
    ${icon('copy')}
  </button>`
}

function copy(event: Event, text: string): void {
  event.stopPropagation()
  navigator.clipboard.writeText(text).then(
    () => toast('ok', 'Copied'),
    () => toast('bad', 'The browser does not let this page copy; select the text instead.'),
  )
}

const TOAST_MS = 6000

/** Says what the person just did; never the only place of an error. */
export function toast(kind: 'ok' | 'bad' | 'warn', text: string): void {
  document.dispatchEvent(new CustomEvent('cairn-toast', { detail: { kind, text, until: Date.now() + TOAST_MS } }))
}
