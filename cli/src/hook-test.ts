/** `cairn hook test PROVIDER [FILE]`: a webhook signed with the configured secret, and what became of it. */
import type { HookProvider, Hooks, MailboxMessage, WebhookAnswer } from '@cairn/clients'
import { CairnError, SystemClock, SystemRandom } from '@cairn/kernel'
import { systemCrypto } from '@cairn/platform'
import { createUlid, problemError } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import {
  effectsOf,
  fieldsOf,
  type HookEffect,
  type HookProviderName,
  isActive,
  readSecret,
  type SecretSource,
  textOf,
} from './hook.ts'
import { type InteropConnection, withInterop } from './interop.ts'
import { readWhole } from './local-files.ts'
import { connectionFlags, formatRows } from './registry-format.ts'

// Signs a webhook as its provider would, for a test of what is configured.

export interface WebhookToSign {
  readonly event: string
  /** What the provider would call this delivery. */
  readonly delivery: string
  readonly body: Uint8Array
  /** Unix milliseconds. */
  readonly nowMs: number
}

type SignedHeaders = Readonly<Record<string, string>>
type Settings = Readonly<Record<string, unknown>>

/** Who is to have signed it. */
interface SigningProvider {
  readonly name: HookProviderName
  /** How the generic provider signs, in the words of the configuration. */
  readonly generic: Settings
}

/** A body of the provider's kind that says it is a test; another one each time. */
export function sampleBody(name: HookProviderName, event: string, delivery: string): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(sample(name, event, delivery)))
}

function sample(name: HookProviderName, event: string, delivery: string): unknown {
  const note = 'a test by cairn hook test'
  switch (name) {
    case 'github':
      return { test: note, delivery }
    case 'slack':
      return { type: 'event_callback', event_id: delivery, event: { type: event, text: note } }
    case 'stripe':
      return { id: delivery, object: 'event', type: event, data: { object: { description: note } } }
    case 'standard':
      return { type: event, data: { test: note, delivery } }
    case 'generic':
      return { event, test: note, delivery }
  }
}

/** The headers the provider would send. */
export function signedHeaders(signer: SigningProvider, secret: string, webhook: WebhookToSign): SignedHeaders {
  return { 'content-type': 'application/json', ...providerHeaders(signer, secret, webhook) }
}

function providerHeaders({ name, generic }: SigningProvider, secret: string, webhook: WebhookToSign): SignedHeaders {
  const { event, delivery, body } = webhook
  const seconds = String(Math.floor(webhook.nowMs / 1000))
  const hex = (prefix: string): string => toHex(systemCrypto.hmacSha256(utf8(secret), joined(prefix, body)))
  switch (name) {
    case 'github':
      return { 'x-github-event': event, 'x-github-delivery': delivery, 'x-hub-signature-256': `sha256=${hex('')}` }
    case 'slack':
      return { 'x-slack-request-timestamp': seconds, 'x-slack-signature': `v0=${hex(`v0:${seconds}:`)}` }
    case 'stripe':
      return { 'stripe-signature': `t=${seconds},v1=${hex(`${seconds}.`)}` }
    case 'standard': {
      const mac = systemCrypto.hmacSha256(standardKey(secret), joined(`${delivery}.${seconds}.`, body))
      return { 'webhook-id': delivery, 'webhook-timestamp': seconds, 'webhook-signature': `v1,${toBase64(mac)}` }
    }
    case 'generic':
      return genericHeaders(generic, secret, webhook, seconds)
  }
}

function standardKey(secret: string): Uint8Array {
  const [, key] = /^whsec_(.+)$/.exec(secret) ?? []
  if (key === undefined) throw cannotSign('a public key verifies and does not sign')
  return Buffer.from(key, 'base64')
}

function genericHeaders(
  settings: Settings,
  secret: string,
  { event, delivery, body }: WebhookToSign,
  seconds: string,
): SignedHeaders {
  const { algorithm, encoding } = settings
  if (algorithm === 'ed25519') throw cannotSign('a public key verifies and does not sign')
  const signed = (textOf(settings['signed']) ?? '{body}').slice(0, -'{body}'.length)
  const message = joined(signed.replace('{timestamp}', seconds), body)
  const key = utf8(secret)
  const isLong = algorithm === 'hmac-sha512'
  const mac = isLong ? systemCrypto.hmacSha512(key, message) : systemCrypto.hmacSha256(key, message)
  const text = encoding === 'base64' ? toBase64(mac) : toHex(mac)
  const header = (key: string, value: string): SignedHeaders => {
    const name = textOf(settings[key])
    return name === undefined ? {} : { [name]: value }
  }
  return {
    ...header('signature_header', `${textOf(settings['signature_prefix']) ?? ''}${text}`),
    ...(signed.includes('{timestamp}') ? header('timestamp_header', seconds) : {}),
    ...header('event_header', event),
    ...header('delivery_header', delivery),
  }
}

function cannotSign(why: string): CairnError {
  return new CairnError('Malformed', `This secret cannot sign a test: ${why}. Let the sender itself send one.`, {
    code: 'usage',
  })
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

function joined(prefix: string, body: Uint8Array): Uint8Array {
  return Buffer.concat([utf8(prefix), body])
}

function toHex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}

/** No rule names this but `*`: a test sets nothing in motion unless it is told to. */
const EVENT_DEFAULT = 'cairn.test'
const PAGE = 1000
/** A mailbox holds 100 000 messages unless it is told to hold more. */
const PAGES_MAX = 100
const ULID_RANDOM_BYTES = 10

export const test: CommandHandler = async (context) => {
  const { given } = context
  return await withInterop(context, async (interop) => {
    const hooks = await interop.client.hooks(interop.call())
    const provider = providerOf(hooks, given.operands[0] ?? '')
    const nowMs = new SystemClock().wall()
    const place = secretOf(provider, nowMs)
    const secret = await readSecret(place, context)
    const webhook = await webhookOf(context, provider.name, nowMs)
    const headers = signedHeaders({ name: provider.name, generic: hooks.generic }, secret, webhook)
    const answer = await interop.client.webhook(provider.name, headers, webhook.body, interop.call())
    const sent = { provider: provider.name, event: webhook.event, secret: place.id, bytes: webhook.body.length }
    if (answer.status >= 400) return refused(answer, sent, connectionFlags(given))
    const effects = await stateOf(interop, effectsOf(hooks, provider.name, webhook.event), answer)
    return accepted(answer, sent, effects, connectionFlags(given))
  })
}

type KnownProvider = HookProvider & { readonly name: HookProviderName }

function providerOf({ providers }: Hooks, name: string): KnownProvider {
  const provider = providers.find((each): each is KnownProvider => each.name === name)
  if (provider?.isEnabled === true) return provider
  const detail = `The provider ${name} is not enabled in the running node; \`cairn hook add ${name}\` says how, and a change takes effect with the next start.`
  throw new CairnError('Conflict', detail, { code: 'provider_off' })
}

function secretOf({ name, secrets }: HookProvider, nowMs: number): SecretSource {
  const place = secrets.find((secret) => isActive(secret, nowMs))
  if (place !== undefined) return place
  throw new CairnError('NotFound', `No secret of ${name} counts now; configure one.`, { code: 'no_secret' })
}

async function webhookOf({ given }: CommandContext, name: HookProviderName, nowMs: number): Promise<WebhookToSign> {
  const event = given.text('event') ?? EVENT_DEFAULT
  const delivery = createUlid(Math.floor(nowMs), new SystemRandom().bytes(ULID_RANDOM_BYTES))
  const path = given.operands[1]
  const body = path === undefined ? sampleBody(name, event, delivery) : await readWhole(path)
  return { event, delivery, body, nowMs }
}

interface SentWebhook {
  readonly provider: string
  readonly event: string
  readonly secret: string
  readonly bytes: number
}

interface EffectState {
  readonly effect: string
  /** What its message is doing, or that it is not there any more. */
  readonly state: string
  readonly id: string | null
}

/** What every rule about the event made of it, as far as it can be seen now. */
async function stateOf(
  { client, call }: InteropConnection,
  wanted: readonly HookEffect[],
  { status, text }: WebhookAnswer,
): Promise<readonly EffectState[]> {
  const { corr_id: corrId, duplicate } = answerFields(text)
  if (status !== 202 || duplicate === true) return []
  const effects: EffectState[] = []
  for (const { effect, topic } of wanted) {
    const message =
      (await find(async (after) => await client.peek(topic, { after, limit: PAGE }, call()), corrId, effect)) ??
      (await find(async (after) => await client.dead(topic, { after, limit: PAGE }, call()), corrId, effect))
    effects.push({ effect, state: message?.state ?? 'taken already', id: message?.id ?? null })
  }
  return effects
}

type FetchPage = (
  after: string | undefined,
) => Promise<{ messages: readonly MailboxMessage[]; next: string | undefined }>

async function find(ask: FetchPage, corrId: unknown, effect: string): Promise<MailboxMessage | undefined> {
  let after: string | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const { messages, next } = await ask(after)
    const found = messages.find(({ body }) => {
      const { corr_id: own, target } = fieldsOf(body)
      return own === corrId && (target === undefined || effect.endsWith(`:${textOf(target) ?? ''}`))
    })
    if (found !== undefined || next === undefined) return found
    after = next
  }
  return undefined
}

/** An answer is what it is: a handshake is answered as its provider expects. */
function answerFields(text: string): Readonly<Record<string, unknown>> {
  try {
    return fieldsOf(JSON.parse(text))
  } catch {
    return {}
  }
}

function accepted(
  answer: WebhookAnswer,
  sent: SentWebhook,
  effects: readonly EffectState[],
  flags: string,
): CommandOutcome {
  const { address, duplicate, corr_id: corrId } = answerFields(answer.text)
  const isDuplicate = duplicate === true
  const came = effects.map(({ effect, state, id }) => `${effect}  ${state}${id === null ? '' : `  ${id}`}`)
  const none = isDuplicate ? 'nothing: it was accepted before' : 'nothing: it was a handshake'
  return {
    result: {
      ...sent,
      status: answer.status,
      address: address ?? null,
      duplicate: isDuplicate,
      corr_id: corrId ?? null,
      effects,
    },
    data: formatRows([
      ['sent', formatSent(sent)],
      ['status', `${answer.status}${isDuplicate ? ', a duplicate' : ''}`],
      ...(typeof address === 'string' ? [['body', address] as const] : []),
      ['became', came.length === 0 ? none : came],
    ]),
    message: `${sent.provider} is let in with the secret at ${sent.secret}`,
    next: [`npx cairn audit${flags} --limit 1`],
  }
}

function refused(answer: WebhookAnswer, sent: SentWebhook, flags: string): CommandOutcome {
  const { status, contentType, text } = answer
  const error = problemError({ status, contentType, retryAfter: undefined, text }, 'interop')
  return {
    result: { ...sent, status, code: error.code },
    data: formatRows([
      ['sent', formatSent(sent)],
      ['status', `${status} ${error.code}`],
    ]),
    error,
    next: [`npx cairn hook ls${flags}`],
  }
}

function formatSent({ provider, event, secret, bytes }: SentWebhook): string {
  return `${event} as ${provider}, ${bytes} B, signed with ${secret}`
}
