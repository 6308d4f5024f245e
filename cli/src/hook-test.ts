/** `cairn hook test PROVIDER [FILE]`: a webhook signed with the configured secret, and what became of it. */
import type { HookProvider, Hooks, MailboxMessage, WebhookAnswer } from '@cairn/clients'
import { CairnError, SystemClock, SystemRandom } from '@cairn/kernel'
import { createUlid, problemError } from '@cairn/wire'
import type { CommandContext, Outcome, Run } from './command.ts'
import {
  effectsOf,
  fieldsOf,
  type HookEffect,
  isActive,
  type ProviderName,
  readSecret,
  type SecretPlace,
  textOf,
} from './hook-config.ts'
import { sampleBody, signedHeaders, type WebhookToSign } from './hook-signature.ts'
import { type Interop, withInterop } from './interop-service.ts'
import { readWhole } from './local-files.ts'
import { rows, sameFlags } from './registry-words.ts'

/** No rule names this but `*`: a test sets nothing in motion unless it is told to. */
const EVENT_DEFAULT = 'cairn.test'
const PAGE = 1000
/** A mailbox holds 100 000 messages unless it is told to hold more. */
const PAGES_MAX = 100
const ULID_RANDOM_BYTES = 10

export const test: Run = async (context) => {
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
    if (answer.status >= 400) return refused(answer, sent, sameFlags(given))
    const effects = await stateOf(interop, effectsOf(hooks, provider.name, webhook.event), answer)
    return accepted(answer, sent, effects, sameFlags(given))
  })
}

type Known = HookProvider & { readonly name: ProviderName }

function providerOf({ providers }: Hooks, name: string): Known {
  const provider = providers.find((each): each is Known => each.name === name)
  if (provider?.isEnabled === true) return provider
  const detail = `The provider ${name} is not enabled in the running node; \`cairn hook add ${name}\` says how, and a change takes effect with the next start.`
  throw new CairnError('Conflict', detail, { code: 'provider_off' })
}

function secretOf({ name, secrets }: HookProvider, nowMs: number): SecretPlace {
  const place = secrets.find((secret) => isActive(secret, nowMs))
  if (place !== undefined) return place
  throw new CairnError('NotFound', `No secret of ${name} counts now; configure one.`, { code: 'no_secret' })
}

async function webhookOf({ given }: CommandContext, name: ProviderName, nowMs: number): Promise<WebhookToSign> {
  const event = given.text('event') ?? EVENT_DEFAULT
  const delivery = createUlid(Math.floor(nowMs), new SystemRandom().bytes(ULID_RANDOM_BYTES))
  const path = given.operands[1]
  const body = path === undefined ? sampleBody(name, event, delivery) : await readWhole(path)
  return { event, delivery, body, nowMs }
}

interface Sent {
  readonly provider: string
  readonly event: string
  readonly secret: string
  readonly bytes: number
}

interface Effect {
  readonly effect: string
  /** What its message is doing, or that it is not there any more. */
  readonly state: string
  readonly id: string | null
}

/** What every rule about the event made of it, as far as it can be seen now. */
async function stateOf(
  { client, call }: Interop,
  wanted: readonly HookEffect[],
  { status, text }: WebhookAnswer,
): Promise<readonly Effect[]> {
  const { corr_id: corrId, duplicate } = answerFields(text)
  if (status !== 202 || duplicate === true) return []
  const effects: Effect[] = []
  for (const { effect, topic } of wanted) {
    const message =
      (await find(async (after) => await client.peek(topic, { after, limit: PAGE }, call()), corrId, effect)) ??
      (await find(async (after) => await client.dead(topic, { after, limit: PAGE }, call()), corrId, effect))
    effects.push({ effect, state: message?.state ?? 'taken already', id: message?.id ?? null })
  }
  return effects
}

type Ask = (after: string | undefined) => Promise<{ messages: readonly MailboxMessage[]; next: string | undefined }>

async function find(ask: Ask, corrId: unknown, effect: string): Promise<MailboxMessage | undefined> {
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

function accepted(answer: WebhookAnswer, sent: Sent, effects: readonly Effect[], flags: string): Outcome {
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
    data: rows([
      ['sent', saySent(sent)],
      ['status', `${answer.status}${isDuplicate ? ', a duplicate' : ''}`],
      ...(typeof address === 'string' ? [['body', address] as const] : []),
      ['became', came.length === 0 ? none : came],
    ]),
    message: `${sent.provider} is let in with the secret at ${sent.secret}`,
    next: [`npx cairn audit${flags} --limit 1`],
  }
}

function refused(answer: WebhookAnswer, sent: Sent, flags: string): Outcome {
  const { status, contentType, text } = answer
  const error = problemError({ status, contentType, retryAfter: undefined, text }, 'interop')
  return {
    result: { ...sent, status, code: error.code },
    data: rows([
      ['sent', saySent(sent)],
      ['status', `${status} ${error.code}`],
    ]),
    error,
    next: [`npx cairn hook ls${flags}`],
  }
}

function saySent({ provider, event, secret, bytes }: Sent): string {
  return `${event} as ${provider}, ${bytes} B, signed with ${secret}`
}
