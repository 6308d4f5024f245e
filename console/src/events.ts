/** What services say happened, in sentences. */
import { html } from 'lit'
import { bytes, count, listed, shown } from './format.ts'
import type { IconName } from './icons.ts'
import type { LiveEvent } from './live.ts'
import { address, foreign, type Part } from './parts.ts'

export interface Told {
  readonly glyph: IconName
  readonly kind: 'ok' | 'warn' | 'bad' | 'off'
  readonly text: Part
}

type Body = LiveEvent['body']

function text(body: Body, name: string): string {
  const value = body[name]
  return typeof value === 'string' ? value : ''
}

function number(body: Body, name: string): number {
  const value = body[name]
  return typeof value === 'number' ? value : 0
}

function texts(body: Body, name: string): readonly string[] {
  const value = body[name]
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

const SENTENCES: Readonly<Record<string, (body: Body) => Told>> = {
  'kernel.health': (body) =>
    body['ok'] === true
      ? { glyph: 'ok', kind: 'ok', text: html`${foreign(text(body, 'service'))} is ready` }
      : {
          glyph: 'bad',
          kind: 'bad',
          text: html`${foreign(text(body, 'service'))} waits for ${shown(listed(texts(body, 'missing')))}`,
        },
  'kernel.crash': (body) => ({
    glyph: 'bad',
    kind: 'bad',
    text: html`A task of ${foreign(text(body, 'service'))} failed and is started again: ${foreign(text(body, 'task'))}`,
  }),
  'kernel.config.updated': (body) => ({
    glyph: 'settings',
    kind: 'off',
    text: html`${foreign(text(body, 'service'))} took over a new configuration`,
  }),
  'kernel.shutdown': (body) => ({
    glyph: 'off',
    kind: 'warn',
    text: html`${foreign(text(body, 'service'))} is stopping`,
  }),
  'storage.ingest': (body) => ({
    glyph: 'objects',
    kind: 'off',
    text: html`Stored ${address(text(body, 'address'))} ${bytes(number(body, 'bytes'))}`,
  }),
  'registry.updated': (body) => ({
    glyph: 'names',
    kind: 'off',
    text: html`Version ${count(number(body, 'version'))} was committed to the log`,
  }),
  'interop.webhook.accepted': (body) => ({
    glyph: 'hooks',
    kind: 'off',
    text: html`Webhook of ${foreign(text(body, 'provider'))} accepted: ${foreign(text(body, 'event'))}`,
  }),
  'interop.brownout': () => ({ glyph: 'warn', kind: 'warn', text: 'Interop sheds load for a while' }),
}

export function told({ service, topic, body }: LiveEvent): Told {
  const known = SENTENCES[topic]
  if (known !== undefined) return known(body)
  const fields = Object.entries(body).filter(([, value]) => typeof value === 'string' || typeof value === 'number')
  const said = fields.map(([name, value]) => `${name} ${shown(brief(String(value)))}`).join(', ')
  return { glyph: 'off', kind: 'off', text: html`${service}: ${topic} <span class="soft">${said}</span>` }
}

/** An address by its beginning and end. */
function brief(value: string): string {
  return /^b3:[0-9a-f]{64}$/.test(value) ? `${value.slice(0, 11)}…${value.slice(-4)}` : value
}
