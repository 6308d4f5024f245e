/** *Settings*: every key with its value and origin, who is signed in, and the API. */
import { html, nothing, type TemplateResult } from 'lit'
import { ago, count, counted, shown } from '../format.ts'
import { icon } from '../icons.ts'
import { commandLine, drawn, LOADING, type Loaded, Page, type Part, panel, state, toast } from '../parts.ts'
import { ask, askJson, currentSession, type SessionFacts } from '../session.ts'

interface KeyRow {
  readonly key: string
  readonly value?: unknown
  readonly origin: string
  readonly reload: string
}

interface Sessions {
  readonly all: readonly SessionFacts[]
  readonly own: string | undefined
}

class CairnSettings extends Page {
  #keys: Loaded<readonly KeyRow[]> = LOADING
  #sessions: Loaded<Sessions> = LOADING
  #filter = ''
  #onlySet = true

  override connectedCallback(): void {
    super.connectedCallback()
    this.keep(askJson<readonly KeyRow[]>('node', 'admin/config'), (keys) => (this.#keys = keys))
    this.#readSessions()
  }

  #readSessions(): void {
    const read = async (): Promise<Sessions> => {
      const all = await askJson<readonly SessionFacts[]>('node', 'admin/console/sessions')
      return { all, own: (await currentSession())?.id }
    }
    this.keep(read(), (sessions) => (this.#sessions = sessions))
  }

  protected override render(): Part {
    return html`${panel({
      title: 'Sessions',
      meta: 'signed in to this console',
      body: drawn(
        this.#sessions,
        (sessions) => this.#sessionList(sessions),
        () => this.#readSessions(),
      ),
    })}
      <div class="cols">
        ${panel({
          title: 'Tokens',
          body: html`<div class="panel-body"><p class="soft">A token is made where its rights can be given away: by the command line, on the machine of the node.</p>${commandLine('cairn token mint --for storage --scope storage:write --ttl 1h')}</div>`,
        })}
        ${panel({
          title: 'API',
          body: html`<div class="panel-body"><p class="soft">Every route of every service, with what it takes and answers.</p><div class="row"><a class="btn" href="/api" target="_blank" rel="noopener">${icon('link')}Open the API reference</a></div></div>`,
        })}
      </div>
      ${panel({
        title: 'Configuration',
        meta: html`<label class="field filter">${icon('search')}<span class="vh">Filter keys</span><input type="search" placeholder="Filter keys" @input=${(
          event: Event,
        ) => {
          this.#filter = (event.target as HTMLInputElement).value
          this.requestUpdate()
        }} /></label>`,
        body: drawn(this.#keys, (keys) => this.#keyTable(keys)),
      })}`
  }

  #sessionList({ all, own }: Sessions): TemplateResult {
    const end = (id: string): (() => void) =>
      this.run(async () => {
        await ask('node', `admin/console/sessions/${id}/revoke`, { method: 'POST' })
        toast('ok', 'The session has ended')
        this.#readSessions()
      })
    return html`<div class="rows">
      ${all.map(
        ({ id, by, since, last_used: used }) => html`<div class="row">
          ${id === own ? state('ok', 'this page') : state('off', 'another page')}
          <span class="soft">since ${ago(since, Date.now())}, used ${ago(used, Date.now())}, by a ${by}</span>
          ${id === own ? nothing : html`<button type="button" class="btn small" aria-label=${`End session ${id}`} @click=${end(id)}>End session</button>`}
        </div>`,
      )}
    </div>`
  }

  #keyTable(keys: readonly KeyRow[]): TemplateResult {
    const fitting = keys.filter(
      ({ key, origin }) =>
        key.includes(this.#filter) && (!this.#onlySet || this.#filter !== '' || origin !== 'default'),
    )
    const toggle = (): void => {
      this.#onlySet = !this.#onlySet
      this.requestUpdate()
    }
    return html`<table class="t">
        <thead><tr><th scope="col">Key</th><th scope="col">Value</th><th scope="col">From</th><th scope="col">A change needs</th></tr></thead>
        <tbody>
          ${fitting.map(
            ({ key, value, origin, reload }) => html`<tr>
            <td class="main-cell"><code>${key}</code></td>
            <td data-label="Value"><code>${shown(value === undefined ? 'not set' : JSON.stringify(value))}</code></td>
            <td data-label="From" class="soft">${shown(origin)}</td>
            <td data-label="Change" class="soft">${reload === 'restart' ? 'a restart' : 'a reload'}</td>
          </tr>`,
          )}
        </tbody>
      </table>
      <div class="pager"><span>${counted(fitting.length, 'key')} of ${count(keys.length)}</span><button type="button" class="btn small" @click=${toggle}>${this.#onlySet ? 'Show defaults too' : 'Show only what is set'}</button></div>`
  }
}

customElements.define('cairn-settings', CairnSettings)
