/** `cairn mailbox …`: messages that verified webhooks became, taken one at a time and acknowledged. */
import type { LeaseReceipt, MailboxMessage, MailboxPage, PageRequest } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { parseDuration, spellCount, spellSeconds } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { type InteropConnection, withInterop } from './interop.ts'
import { connectionFlags, formatInstant } from './registry-format.ts'
import { escapeControls } from './terminal-text.ts'

/** What one request may ask for. */
const PAGE = 1000
const LIMIT_DEFAULT = 100
/** As long as interop lets a lease wait. */
const WAIT_SECONDS_MAX = 20

/** The next message, for whoever asks alone. Standard output is the receipt and the message. */
export const lease: CommandHandler = async (context) => {
  const { given } = context
  const topic = given.operands[0] ?? ''
  const waitSeconds = waitOf(given.text('wait-for'))
  return await withInterop(context, async ({ client, call }) => {
    const leased = await client.lease(topic, waitSeconds, call(waitSeconds * 1000))
    if (leased === undefined) throw noMessage(topic, waitSeconds)
    const { message, receipt, visibilityMs } = leased
    const word = receiptText(receipt)
    return {
      result: { ...messageResult(message), receipt: word, attempt: receipt.attempt, visibility_ms: visibilityMs },
      data: `${word}  ${JSON.stringify(message.body)}\n`,
      message: `delivery ${receipt.attempt} of ${message.id}; yours for ${spellSeconds(visibilityMs)}`,
      next: [`npx cairn mailbox ack ${topic} ${word}${connectionFlags(given)}`],
    }
  })
}

function waitOf(text: string | undefined): number {
  if (text === undefined) return 0
  const seconds = Math.ceil(parseDuration(text) / 1000)
  if (seconds <= WAIT_SECONDS_MAX) return seconds
  throw usage(`--wait-for is up to ${WAIT_SECONDS_MAX}s; not ${text}.`)
}

function noMessage(topic: string, waitSeconds: number): CairnError {
  const when = waitSeconds === 0 ? ' now' : `, and none came in ${waitSeconds} s`
  return new CairnError('NotFound', `There is no message to take in ${topic}${when}.`, { code: 'no_message' })
}

export const ack: CommandHandler = async (context) => await settle(context, 'ack')
export const nack: CommandHandler = async (context) => await settle(context, 'nack')

async function settle(context: CommandContext, verb: 'ack' | 'nack'): Promise<CommandOutcome> {
  const [topic = '', word = ''] = context.given.operands
  const receipt = parseReceipt(word)
  await withInterop(context, async ({ client, call }) => await client[verb](topic, receipt, call()))
  const { id } = receipt
  return {
    result: { topic, id },
    message: verb === 'ack' ? `${id} is done` : `${id} is back in the queue`,
  }
}

/** A receipt as one word that passes through a shell. */
function receiptText({ id, attempt, nonce }: LeaseReceipt): string {
  return `${id}:${attempt}:${nonce}`
}

function parseReceipt(word: string): LeaseReceipt {
  const [, id, attempt, nonce] = /^(.+):([1-9]\d{0,8}):([\w-]+)$/.exec(word) ?? []
  if (id !== undefined && attempt !== undefined && nonce !== undefined) return { id, attempt: Number(attempt), nonce }
  throw usage(`A receipt is ID:ATTEMPT:NONCE, as \`cairn mailbox lease\` printed it; not ${word}.`)
}

type Listing = (topic: string, page: PageRequest) => Promise<MailboxPage>

export const peek: CommandHandler = async (context) =>
  await withInterop(
    context,
    async ({ client, call }) =>
      await warned(
        await list(context, 'peek', async (topic, page) => await client.peek(topic, page, call())),
        async () => await unknownTopic(context, client, call),
      ),
  )

/** A topic that is empty may be one that nothing is ever sent to. */
async function warned(outcome: CommandOutcome, hint: () => Promise<readonly string[]>): Promise<CommandOutcome> {
  const { messages } = outcome.result as { readonly messages: readonly unknown[] }
  if (messages.length > 0 || outcome.message?.startsWith('0 ') !== true) return outcome
  return { ...outcome, warnings: [...(outcome.warnings ?? []), ...(await hint())] }
}

/** Named only to those who may see the rules; a topic may also be filled by `POST /mailbox/TOPIC/send` alone. */
async function unknownTopic(
  { given }: CommandContext,
  client: InteropConnection['client'],
  call: InteropConnection['call'],
) {
  const topic = given.operands[0] ?? ''
  try {
    const { providers, rules } = await client.hooks(call())
    const filled = rules.flatMap(({ effect }) =>
      effect.startsWith('mailbox:') ? [effect.slice('mailbox:'.length)] : [],
    )
    const known = [...new Set([...filled, ...providers.filter(({ isEnabled }) => isEnabled).map(({ name }) => name)])]
    if (known.includes(topic) || topic.startsWith('@')) return []
    const there = known.length === 0 ? 'no rule of the node fills any' : `rules of the node fill ${known.join(', ')}`
    return [`no rule puts messages into ${topic}; ${there}`]
  } catch (error) {
    if (error instanceof CairnError && ['Unauthorized', 'Forbidden', 'NotFound'].includes(error.kind)) return []
    throw error
  }
}

export const dead: CommandHandler = async (context) =>
  await withInterop(
    context,
    async ({ client, call }) =>
      await list(context, 'dead', async (topic, page) => await client.dead(topic, page, call())),
  )

/** Page after page, each printed as it comes; only one JSON object has to hold them all. */
async function list({ given, terminal }: CommandContext, verb: 'peek' | 'dead', ask: Listing): Promise<CommandOutcome> {
  const topic = given.operands[0] ?? ''
  const limit = limitOf(given.text('limit'), LIMIT_DEFAULT)
  const kept: MailboxMessage[] = []
  let after = given.text('cursor')
  let count = 0
  while (count < limit) {
    const page = await ask(topic, { after, limit: Math.min(PAGE, limit - count) })
    if (given.has('json')) kept.push(...page.messages)
    else terminal.write(page.messages.map((message) => `${escapeControls(formatMessage(message))}\n`).join(''))
    count += page.messages.length
    after = page.next
    if (after === undefined) break
  }
  const flags = connectionFlags(given)
  const more = after === undefined ? [] : [`npx cairn mailbox ${verb} ${topic}${flags} --cursor ${after}`]
  const replay = verb === 'dead' && count > 0 ? [`npx cairn mailbox replay ${topic}${flags}`] : []
  return {
    result: { topic, messages: kept.map(keptResult), cursor: after ?? null },
    message: `${spellCount(count, verb === 'dead' ? 'dead letter' : 'message')} in ${topic}`,
    warnings: after === undefined ? [] : ['there may be more than these'],
    next: [...more, ...replay],
  }
}

function formatMessage({ id, state, attempts, sentAt, body }: MailboxMessage): string {
  return `${id}  ${state}  ${attempts === 1 ? '1 delivery' : `${attempts} deliveries`}  ${formatInstant(sentAt)}  ${JSON.stringify(body)}`
}

function messageResult({ id, topic, key, sentAt, body }: Omit<MailboxMessage, 'attempts' | 'state'>) {
  return { id, topic, key: key ?? null, sent_at: formatInstant(sentAt), body }
}

function keptResult({ attempts, state, ...message }: MailboxMessage) {
  return { ...messageResult(message), attempts, state }
}

/** Puts dead letters back: all of a topic, or those named. */
export const replay: CommandHandler = async (context) => {
  const [topic = '', ...ids] = context.given.operands
  return await withInterop(context, async (interop) => await replayLetters(context, interop, topic, ids))
}

/** Those that were named have to be there; none at all is no mistake. */
export async function replayLetters(
  { given }: CommandContext,
  { client, call }: InteropConnection,
  topic: string,
  ids: readonly string[],
): Promise<CommandOutcome> {
  const replayed = await client.replay(topic, ids.length === 0 ? undefined : ids, call())
  const outcome = { result: { topic, replayed, asked: ids.length === 0 ? null : ids.length } }
  const flags = connectionFlags(given)
  if (replayed < ids.length) {
    const missing = ids.length === 1 ? ids[0] : `${ids.length - replayed} of the ${ids.length} named`
    const detail = `There is no such dead letter in ${topic}: ${missing}.`
    const error = new CairnError('NotFound', detail, { code: replayed === 0 ? 'no_dead_letter' : 'partial' })
    return { ...outcome, error, next: [`npx cairn mailbox dead ${topic}${flags}`] }
  }
  return {
    ...outcome,
    message:
      replayed === 0 ? `${topic} has no dead letters` : `${spellCount(replayed, 'dead letter')} of ${topic} put back`,
    next: replayed === 0 ? [] : [`npx cairn mailbox peek ${topic}${flags}`],
  }
}

/** `--limit` of lists that are read page by page. */
export function limitOf(text: string | undefined, byDefault: number): number {
  if (text === undefined) return byDefault
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw usage(`--limit is a whole number from 1 on; not ${text}.`)
}

function usage(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'usage' })
}
