/** The frame of the console: sign-in, navigation, the page, and how far behind it is. */
import { html, LitElement, nothing, type TemplateResult } from 'lit'
import { span } from './format.ts'
import { type IconName, icon, mark } from './icons.ts'
import { live } from './live.ts'
import { commandLine, type Part, statusLine } from './parts.ts'
import { currentSession, Problem, type SessionFacts, sessionEnded, signIn, signOut, whyOf } from './session.ts'

interface PageRow {
  readonly path: string
  readonly title: string
  readonly glyph: IconName
  /** Behind "More" where there is room for five. */
  readonly isLate?: boolean
  readonly draw: (rest: string) => TemplateResult
  readonly load: () => Promise<unknown>
}

const PAGES: readonly PageRow[] = [
  {
    path: 'now',
    title: 'Now',
    glyph: 'now',
    draw: () => html`<cairn-now></cairn-now>`,
    load: async () => await import('./pages/now.ts'),
  },
  {
    path: 'names',
    title: 'Names',
    glyph: 'names',
    draw: (rest) => html`<cairn-names .rest=${rest}></cairn-names>`,
    load: async () => await import('./pages/names.ts'),
  },
  {
    path: 'objects',
    title: 'Objects',
    glyph: 'objects',
    draw: (rest) => html`<cairn-objects .rest=${rest}></cairn-objects>`,
    load: async () => await import('./pages/objects.ts'),
  },
  {
    path: 'webhooks',
    title: 'Webhooks',
    glyph: 'hooks',
    draw: (rest) => html`<cairn-webhooks .rest=${rest}></cairn-webhooks>`,
    load: async () => await import('./pages/webhooks.ts'),
  },
  {
    path: 'cluster',
    title: 'Cluster',
    glyph: 'cluster',
    isLate: true,
    draw: () => html`<cairn-cluster></cairn-cluster>`,
    load: async () => await import('./pages/cluster.ts'),
  },
  {
    path: 'audit',
    title: 'Audit',
    glyph: 'audit',
    isLate: true,
    draw: () => html`<cairn-audit></cairn-audit>`,
    load: async () => await import('./pages/audit.ts'),
  },
  {
    path: 'settings',
    title: 'Settings',
    glyph: 'settings',
    isLate: true,
    draw: () => html`<cairn-settings></cairn-settings>`,
    load: async () => await import('./pages/settings.ts'),
  },
  {
    path: 'sites',
    title: 'Sites and maps',
    glyph: 'sites',
    isLate: true,
    draw: () => html`<cairn-sites></cairn-sites>`,
    load: async () => await import('./pages/sites.ts'),
  },
]

type Theme = 'system' | 'light' | 'dark'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']

interface ToastRow {
  readonly kind: 'ok' | 'bad' | 'warn'
  readonly text: string
  readonly until: number
}

type Entry =
  | { readonly tag: 'opening' }
  | { readonly tag: 'out'; readonly why: Refusal | undefined }
  | { readonly tag: 'in'; readonly session: SessionFacts }

interface Refusal {
  readonly kind: 'bad' | 'warn' | 'wait'
  readonly title: string
  readonly why: string
}

const REFUSALS: Readonly<Record<string, Omit<Refusal, 'why'>>> = {
  code_used: { kind: 'bad', title: 'This link was used already' },
  code_expired: { kind: 'warn', title: 'This link is older than 10 minutes' },
  code_unknown: { kind: 'bad', title: 'The code is not right' },
  token_refused: { kind: 'bad', title: 'The token is refused' },
  too_many_tries: { kind: 'warn', title: 'Too many tries' },
  tls_required: { kind: 'bad', title: 'Signing in needs TLS here' },
  unreachable: { kind: 'bad', title: 'The node does not answer' },
}

const MORE: PageRow = {
  path: 'more',
  title: 'More',
  glyph: 'more',
  isLate: true,
  draw: () =>
    html`<ul class="panel rows">${PAGES.filter(({ isLate }) => isLate === true).map(({ path, title, glyph }) => html`<li><a class="file" href=${`#/${path}`}>${icon(glyph)}${title}</a></li>`)}</ul>`,
  load: async () => await Promise.resolve(),
}

const SIGN_IN = '#signin='

class CairnApp extends LitElement {
  #entry: Entry = { tag: 'opening' }
  #toasts: readonly ToastRow[] = []
  readonly #isLoaded = new Set<string>()
  #isBusy = false

  protected override createRenderRoot(): HTMLElement {
    return this
  }

  override connectedCallback(): void {
    super.connectedCallback()
    window.addEventListener('hashchange', () => {
      if (location.hash.startsWith(SIGN_IN)) this.#open()
      this.requestUpdate()
    })
    document.addEventListener('cairn-toast', (event) => this.#addToast((event as CustomEvent<ToastRow>).detail))
    document.addEventListener('keydown', (event) => this.#onKey(event))
    live.addEventListener('changed', () => this.requestUpdate())
    sessionEnded.addEventListener('ended', () => {
      if (this.#entry.tag !== 'in') return
      live.stop()
      const why = 'It was ended, was idle for 12 hours, or the node was started again.'
      this.#entry = { tag: 'out', why: { kind: 'wait', title: 'Your session has ended', why } }
      this.requestUpdate()
    })
    setInterval(() => {
      if (live.behindSince !== undefined) this.requestUpdate()
    }, 1000)
    this.#open()
  }

  /** With the code of the address, which is gone from it at once, or with the session there is. */
  #open(): void {
    const code = location.hash.startsWith(SIGN_IN) ? location.hash.slice(SIGN_IN.length) : undefined
    if (code !== undefined) history.replaceState(null, '', '/')
    const entered = code === undefined ? currentSession() : signIn(decodeURIComponent(code))
    this.#enter(entered)
  }

  #enter(entered: Promise<SessionFacts | undefined>): void {
    this.#isBusy = true
    entered
      .then(
        (session) => {
          this.#entry = session === undefined ? { tag: 'out', why: undefined } : { tag: 'in', session }
          if (session !== undefined) live.start()
        },
        (error: unknown) => {
          this.#entry = { tag: 'out', why: refusalOf(error) }
        },
      )
      .finally(() => {
        this.#isBusy = false
        this.requestUpdate()
      })
    this.requestUpdate()
  }

  protected override render(): Part {
    switch (this.#entry.tag) {
      case 'opening':
        return nothing
      case 'out':
        return this.#signIn(this.#entry.why)
      case 'in':
        return this.#shell()
    }
  }

  #shell(): TemplateResult {
    const { page, rest } = here()
    document.title = `${page.title} · cairn`
    if (!this.#isLoaded.has(page.path)) {
      page.load().then(
        () => {
          this.#isLoaded.add(page.path)
          this.requestUpdate()
        },
        (error: unknown) => this.#addToast({ kind: 'bad', text: whyOf(error), until: Date.now() + 60_000 }),
      )
    }
    const { now } = live
    return html`<a class="skip" href="#main" @click=${skip}>Skip to content</a>
      <div class="shell">
        <aside class="side">
          <a class="brand" href="#/now">${mark()}<span>cairn<small>${location.host}</small></span></a>
          <nav class="nav" aria-label="Pages">
            ${PAGES.map((row) => this.#link(row, page))}
            <a href="#/more" class="more" aria-current=${page.isLate === true ? 'page' : nothing}>${icon('more')}<span class="label">More</span></a>
          </nav>
          <div class="side-foot">
            ${now === undefined ? nothing : html`<small>cairn ${now.status.version} · up ${span(Date.now() - now.started_at)}</small>`}
            ${this.#themeButton()}
            <button type="button" class="btn quiet small" @click=${this.#leave}>${icon('x')}Sign out</button>
          </div>
        </aside>
        <div class="main">
          <header class="top">
            <a class="brand" href="#/now" aria-label="cairn">${mark()}</a>
            <ol class="crumbs" aria-label="Where you are">
              <li><h1>${page.title}</h1></li>
            </ol>
            ${liveMark()}
          </header>
          <main class="page" id="main" tabindex="-1">
            ${this.#isLoaded.has(page.path) ? page.draw(rest) : nothing}
          </main>
        </div>
      </div>
      ${this.#toastList()}`
  }

  #link(row: PageRow, current: PageRow): TemplateResult {
    const trouble = row.path === 'now' && live.now !== undefined && worst() === 'bad'
    return html`<a
      href=${`#/${row.path}`}
      class=${row.isLate === true ? 'late' : ''}
      aria-current=${row === current ? 'page' : nothing}
      title=${row.title}
      >${icon(row.glyph)}<span class="label">${row.title}</span>${
        trouble
          ? html`<svg class="icon bad" viewBox="0 0 16 16" role="img" aria-label="trouble"><path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5Z"/><path d="m6 6 4 4m0-4-4 4"/></svg>`
          : nothing
      }</a
    >`
  }

  #themeButton(): TemplateResult {
    const theme = themeNow()
    return html`<button
      type="button"
      class="btn quiet small"
      aria-label=${`Theme: ${theme}. Change`}
      @click=${() => {
        nextTheme()
        this.requestUpdate()
      }}
    >
      ${icon('theme')}<span>${theme.charAt(0).toUpperCase()}${theme.slice(1)}</span>
    </button>`
  }

  readonly #leave = (): void => {
    live.stop()
    this.#enter(signOut().then(() => undefined))
  }

  #signIn(why: Refusal | undefined): TemplateResult {
    document.title = 'Sign in · cairn'
    return html`<main class="gate">
      <h1 class="brand">${mark()}<span>Sign in to cairn<small>${location.origin}</small></span></h1>
      ${why === undefined ? nothing : statusLine(why)}
      <section class="panel">
        <div class="panel-body">
          <div class="stack tight">
            <h2>On the machine where the node runs</h2>
            <p class="soft">This opens the console in your browser, signed in.</p>
            ${commandLine('cairn open')}
          </div>
          <form class="stack tight" @submit=${this.#onSubmit}>
            <label for="credential"><h2>Or enter a code or a token</h2></label>
            <p class="soft">
              The node prints a code to its terminal at start; <code>cairn open --print</code> makes another. The token
              of <code>admin.token</code> works as well.
            </p>
            <div class="row nowrap-row">
              <span class="field grow"
                >${icon('key')}<input
                  id="credential"
                  name="credential"
                  autocomplete="off"
                  spellcheck="false"
                  autocapitalize="none"
                  required
                  placeholder="7c3f92-a0d18e-51f04b-9e2c77"
              /></span>
              <button class="btn primary" ?disabled=${this.#isBusy}>Sign in</button>
            </div>
          </form>
        </div>
        <div class="panel-foot">
          <small class="row tight">${icon('lock')}<span>Everything here comes from this node; nothing is fetched from anywhere else.</span></small>
        </div>
      </section>
      ${this.#themeButton()}
    </main>`
  }

  readonly #onSubmit = (event: SubmitEvent): void => {
    event.preventDefault()
    const given = new FormData(event.target as HTMLFormElement).get('credential')
    if (typeof given === 'string') this.#enter(signIn(given))
  }

  #addToast(row: ToastRow): void {
    this.#toasts = [...this.#toasts, row].slice(-3)
    this.requestUpdate()
    setTimeout(
      () => {
        this.#toasts = this.#toasts.filter((other) => other !== row)
        this.requestUpdate()
      },
      Math.max(0, row.until - Date.now()),
    )
  }

  #toastList(): TemplateResult {
    return html`<div class="toasts" role="status">
      ${this.#toasts.map(
        (row) => html`<div class="toast" data-state=${row.kind}>
          ${icon(row.kind)}<span>${row.text}</span>
          <button
            type="button"
            class="btn quiet small"
            aria-label="Close"
            @click=${() => {
              this.#toasts = this.#toasts.filter((other) => other !== row)
              this.requestUpdate()
            }}
          >
            ${icon('x')}
          </button>
        </div>`,
      )}
    </div>`
  }

  #onKey(event: KeyboardEvent): void {
    if (event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement) return
    const search = this.querySelector<HTMLInputElement>('input[type=search]')
    if (search === null) return
    event.preventDefault()
    search.focus()
  }
}

function refusalOf(error: unknown): Refusal {
  const known = error instanceof Problem ? REFUSALS[error.code] : undefined
  return { ...(known ?? { kind: 'bad', title: 'You could not be signed in' }), why: whyOf(error) }
}

/** Moves the focus without changing the address, which names the page. */
function skip(event: Event): void {
  event.preventDefault()
  document.querySelector<HTMLElement>('#main')?.focus()
}

function here(): { readonly page: PageRow; readonly rest: string } {
  const [, name = '', rest = ''] = /^#\/([^/]*)\/?(.*)$/.exec(location.hash) ?? []
  const page = [...PAGES, MORE].find(({ path }) => path === name) ?? PAGES[0]
  if (page === undefined) throw new TypeError('There are no pages.')
  return { page, rest }
}

function worst(): 'ok' | 'warn' | 'bad' {
  const services = live.now?.status.services ?? []
  if (services.some(({ ready }) => !ready)) return 'bad'
  return services.some(({ concerns }) => concerns.length > 0) ? 'warn' : 'ok'
}

function liveMark(): TemplateResult {
  const since = live.behindSince
  if (since !== undefined)
    return html`<span class="live" data-state="warn" role="status">Behind by ${span(Date.now() - since, 1)}, reconnecting</span>`
  if (live.now === undefined) return html`<span class="live" data-state="warn">Connecting</span>`
  return html`<span class="live">Live</span>`
}

function themeNow(): Theme {
  const chosen = localStorage.getItem('cairn.theme')
  return THEMES.find((theme) => theme === chosen) ?? 'system'
}

function nextTheme(): void {
  const theme = THEMES[(THEMES.indexOf(themeNow()) + 1) % THEMES.length] ?? 'system'
  localStorage.setItem('cairn.theme', theme)
  if (theme === 'system') delete document.documentElement.dataset['theme']
  else document.documentElement.dataset['theme'] = theme
}

customElements.define('cairn-app', CairnApp)
