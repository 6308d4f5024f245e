/** `cairn hook ls|replay`: which providers are let in, and what of theirs is tried once more. */
import { mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { decodeAuditLine, type HookProvider, type Hooks, type ReceivedEvent } from '@cairn/clients'
import { CairnError, Deadline, SystemClock, SystemRandom } from '@cairn/kernel'
import { spellCount } from '@cairn/wire'
import { AUDIT_PAGE } from './audit.ts'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { type InteropConnection, withInterop } from './interop.ts'
import { ownKeyPath } from './key.ts'
import { isThere, readWhole } from './local-files.ts'
import { limitOf, replayLetters } from './mailbox.ts'
import { connectionFlags, formatInstant } from './registry-format.ts'
import { untilInterrupted } from './service-client.ts'
import { escapeControls } from './terminal-text.ts'

// What a node says about webhooks: who is let in, where secrets are, never what they are.

const PROVIDERS = ['github', 'slack', 'stripe', 'standard', 'generic'] as const
export type HookProviderName = (typeof PROVIDERS)[number]
export type SecretSource = HookProvider['secrets'][number]

export interface HookEffect {
  /** As the configuration spells it, such as `mailbox:deploys`. */
  readonly effect: string
  /** Where its messages are until they are taken. */
  readonly topic: string
}

/** What becomes of an event. One that no rule is about goes to the topic of its provider. */
export function effectsOf({ rules }: Hooks, provider: string, event: string): readonly HookEffect[] {
  const own = rules.filter((rule) => rule.provider === provider && (rule.event === '*' || rule.event === event))
  const effects = new Set(own.map(({ effect }) => effect))
  return (effects.size > 0 ? [...effects] : [`mailbox:${provider}`]).map((effect) => ({
    effect,
    topic: effect.startsWith('mailbox:') ? effect.slice('mailbox:'.length) : `@${effect.split(':')[0] ?? ''}`,
  }))
}

/** Whether the secret counts at this time. */
export function isActive({ notAfterMs }: SecretSource, nowMs: number): boolean {
  return notAfterMs === undefined || nowMs < notAfterMs
}

/** The secret itself, for signing a test; it is never shown. A node does not tell it, so it has to be here too. */
export async function readSecret(
  { id }: SecretSource,
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<string> {
  const [, kind, place = ''] = /^(env|file):(.*)$/s.exec(id) ?? []
  const text = kind === 'file' ? await readLine(place) : (terminal.environment[place] ?? '')
  if (text !== '') return text
  const detail = `The secret at ${id} of the node is not to be had here. Set it for this command too, or run it where the node runs.`
  throw new CairnError('NotFound', detail, { code: 'no_secret' })
}

async function readLine(path: string): Promise<string> {
  if (!(await isThere(path))) return ''
  return new TextDecoder().decode(await readWhole(path)).replace(/\r?\n$/, '')
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

// `cairn hook tail`: webhooks as they are accepted or refused.

/** As good as for ever; each connection lives an hour at most. */
const FOLLOW_MS = 365 * 24 * 60 * 60 * 1000

export const tail: CommandHandler = async (context) => {
  const { given, terminal, print } = context
  const limit = limitOf(given.text('limit'), Number.POSITIVE_INFINITY)
  const isQuiet = given.has('quiet') || given.has('json')
  const onOpen = (): void => {
    if (!isQuiet) terminal.say('… following; an interrupt ends it\n')
  }
  return await withInterop(
    context,
    async ({ client }) =>
      await untilInterrupted(async (signal) => {
        const deadline = Deadline.after(new SystemClock(), FOLLOW_MS)
        let left = limit
        for await (const event of client.events({ deadline, signal }, onOpen)) {
          const happened = happeningOf(event)
          if (happened === undefined) continue
          if (given.has('json')) print({ result: { event: event.event, ...happened.facts } })
          else terminal.write(`${escapeControls(happened.text)}\n`)
          left -= 1
          if (left <= 0) break
        }
        return 0
      }),
  )
}

interface Happening {
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** What an event says to somebody who watches webhooks; nothing if it is about something else. */
function happeningOf({ event, data }: ReceivedEvent): Happening | undefined {
  const facts = fieldsOf(JSON.parse(data))
  const say = (...words: readonly unknown[]): Happening => ({ text: words.map(fieldText).join('  '), facts })
  switch (event) {
    case 'interop.webhook.accepted':
      return say('accepted', facts['provider'], facts['event'], facts['delivery'], facts['address'], facts['message'])
    case 'audit.event': {
      // What was accepted has been said, by the event above.
      const isSaid = facts['decision'] === 'allow' && facts['reason'] === ''
      if (isSaid || facts['action'] !== 'webhook') return undefined
      const verdict = facts['decision'] === 'deny' ? 'refused' : 'accepted'
      return say(verdict, facts['provider'], facts['reason'], facts['b3'], facts['corr_id'])
    }
    case 'interop.brownout': {
      const reasons = facts['reasons']
      return say('brownout', facts['active'] === true ? 'on' : 'off', Array.isArray(reasons) ? reasons.join(', ') : '')
    }
    case 'gap':
      return say('gap', 'events were missed; `cairn audit` has every line')
    default:
      return undefined
  }
}

function fieldText(value: unknown): string {
  return textOf(value) || '-'
}

/** `cairn hook add PROVIDER`: the section of the configuration that lets a provider in, and a secret for it. */

const SECRET_BYTES = 32
const SECRET_MODE = 0o600

/** Who makes the secret; where theirs is to be found. */
const ISSUED: Readonly<Partial<Record<HookProviderName, string>>> = {
  slack: 'the signing secret under Basic Information of the app',
  stripe: 'the signing secret of the endpoint, whsec_…',
}

export const add: CommandHandler = async (context) => {
  const { given } = context
  const name = (given.operands[0] ?? '') as HookProviderName
  const env = given.text('env')
  const path = env === undefined ? secretPath(context, name) : undefined
  if (given.has('generate')) await generate(name, path)
  const isMissing = path !== undefined && !(await isThere(path))
  const place = path === undefined ? { env: env ?? '' } : { file: path }
  const [key = '', value = ''] = Object.entries(place)[0] ?? []
  return {
    result: { provider: name, ...place, generated: given.has('generate'), path: `/webhooks/${name}` },
    data: [
      `[interop.providers.${name}]`,
      'enabled = true',
      `secrets = [{ ${key} = ${JSON.stringify(value)} }]`,
      '',
    ].join('\n'),
    message: [
      'the lines above go into cairn.toml; they take effect with the next start',
      `secret  ${describeSecretSource(name, path, env, given.has('generate'))}`,
      `URL     https://YOUR-HOST/webhooks/${name}, as JSON where the provider asks`,
    ].join('\n  '),
    warnings: isMissing ? [`there is no secret in ${path} yet; the node does not start without it`] : [],
    next: ['npx cairn config validate', `npx cairn hook test ${name}`],
  }
}

/** The user's own configuration, never the working directory: a secret in a repository is soon somebody else's. */
function secretPath({ given, terminal }: CommandContext, name: string): string {
  const named = given.text('secret-file')
  return resolve(named ?? join(dirname(ownKeyPath(terminal.environment)), 'hooks', `${name}.secret`))
}

function describeSecretSource(
  name: HookProviderName,
  path: string | undefined,
  env: string | undefined,
  isMade: boolean,
): string {
  const place = path ?? `the environment variable ${env ?? ''} of the node`
  if (isMade) return `new, in ${place}; give the same text to the sender`
  const issued = ISSUED[name]
  return issued === undefined ? `the one the sender signs with goes into ${place}` : `${issued}, goes into ${place}`
}

/** Writes a new secret for its owner alone. Whatever is there already stays as it is. */
async function generate(name: HookProviderName, path: string | undefined): Promise<void> {
  const issued = ISSUED[name]
  if (issued !== undefined)
    throw usage(`The secret of ${name} is made by ${name}: ${issued}. Write that into the file, without --generate.`)
  if (path === undefined) throw usage('--generate writes a file; --env names a variable that is set elsewhere.')
  const bytes = Buffer.from(new SystemRandom().bytes(SECRET_BYTES))
  const secret = name === 'standard' ? `whsec_${bytes.toString('base64')}` : bytes.toString('hex')
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await using file = await open(path, 'wx', SECRET_MODE)
    await file.writeFile(`${secret}\n`)
    await file.sync()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') {
      const detail = `${path} is there already and stays as it is: senders may still sign with it.`
      throw new CairnError('Conflict', detail, { code: 'secret_exists', cause })
    }
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CairnError('Malformed', `${path} cannot be written: ${why}.`, { code: 'unwritable', cause })
  }
}

function usage(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'usage' })
}

/** How far back the audit is searched for what each provider sent last. */
const LINES_SEARCHED = 10_000

interface Accepted {
  readonly at: number
  readonly event: string
}

/** Every provider of the node: whether it is let in, until when its secrets count, and what came last. */
export const ls: CommandHandler = async (context) => {
  const { providers, accepted, searched } = await withInterop(context, async (interop) => ({
    ...(await interop.client.hooks(interop.call())),
    ...(await lastAccepted(interop)),
  }))
  const now = new SystemClock().wall()
  const rows = providers.map((provider) => ({ provider, last: accepted.get(provider.name) }))
  const on = providers.filter(({ isEnabled }) => isEnabled)
  const flags = connectionFlags(context.given)
  return {
    result: {
      providers: rows.map(({ provider, last }) => resultOf(provider, last, now)),
      lines_searched: searched,
    },
    data: rows.map(({ provider, last }) => `${formatHookProvider(provider, last, now)}\n`).join(''),
    message: `${on.length} of ${rows.length} enabled; ${spellCount(searched, 'line')} of the audit searched for what came last`,
    warnings: on
      .filter(({ secrets }) => !secrets.some((secret) => isActive(secret, now)))
      .map(({ name }) => `no secret of ${name} counts any more: everything it sends is refused`),
    next:
      on[0] === undefined ? ['npx cairn hook add github --generate'] : [`npx cairn hook test ${on[0].name}${flags}`],
  }
}

async function lastAccepted({ client, call }: InteropConnection) {
  const accepted = new Map<string, Accepted>()
  const { first, count } = await client.audit(undefined, 1, call())
  const from = Math.max(first, count - LINES_SEARCHED + 1)
  let cursor = from
  while (cursor <= count) {
    const page = await client.audit(cursor, AUDIT_PAGE, call())
    for (const bytes of page.lines) note(accepted, bytes)
    if (page.lines.length === 0) break
    cursor = page.next
  }
  return { accepted, searched: Math.max(0, count - from + 1) }
}

function note(accepted: Map<string, Accepted>, bytes: Uint8Array): void {
  try {
    const { decision, action, provider, event, at } = decodeAuditLine(bytes)
    if (decision === 'allow' && action === 'webhook') accepted.set(provider, { at, event })
  } catch {
    // A damaged line says nothing; finding them is for `cairn audit verify`.
  }
}

function formatHookProvider(
  { name, isEnabled, secrets }: HookProvider,
  last: Accepted | undefined,
  now: number,
): string {
  const places = secrets.map((secret) => formatSecret(secret, now)).join(', ') || 'no secret'
  const came = last === undefined ? 'nothing accepted' : `accepted ${last.event} ${formatInstant(last.at)}`
  return `${name.padEnd(8)}  ${isEnabled ? 'enabled' : 'off'.padEnd(7)}  ${places}  ${came}`
}

function formatSecret(secret: SecretSource, now: number): string {
  const { id, notAfterMs } = secret
  if (notAfterMs === undefined) return `${id} (no end)`
  return `${id} (${isActive(secret, now) ? 'until' : 'ended'} ${formatInstant(notAfterMs)})`
}

function resultOf({ name, isEnabled, secrets }: HookProvider, last: Accepted | undefined, now: number) {
  return {
    provider: name,
    enabled: isEnabled,
    secrets: secrets.map((secret) => ({
      id: secret.id,
      not_after: secret.notAfterMs === undefined ? null : formatInstant(secret.notAfterMs),
      active: isActive(secret, now),
    })),
    last_accepted: last === undefined ? null : { at: formatInstant(last.at), event: last.event },
  }
}

/** One dead letter of a topic, tried once more. */
export const replay: CommandHandler = async (context): Promise<CommandOutcome> => {
  const [topic = '', id = ''] = context.given.operands
  return await withInterop(context, async (interop) => await replayLetters(context, interop, topic, [id]))
}
