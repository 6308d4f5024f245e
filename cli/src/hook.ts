/** `cairn hook ls|replay`: which providers are let in, and what of theirs is tried once more. */
import { decodeAuditLine, type HookProvider } from '@cairn/clients'
import { SystemClock } from '@cairn/kernel'
import { spellCount } from '@cairn/wire'
import { AUDIT_PAGE } from './audit.ts'
import type { Outcome, Run } from './command.ts'
import { isActive, type SecretPlace } from './hook-config.ts'
import { type Interop, withInterop } from './interop-service.ts'
import { replayLetters } from './mailbox.ts'
import { sameFlags, sayInstant } from './registry-words.ts'

/** How far back the audit is searched for what each provider sent last. */
const LINES_SEARCHED = 10_000

interface Accepted {
  readonly at: number
  readonly event: string
}

/** Every provider of the node: whether it is let in, until when its secrets count, and what came last. */
export const ls: Run = async (context) => {
  const { providers, accepted, searched } = await withInterop(context, async (interop) => ({
    ...(await interop.client.hooks(interop.call())),
    ...(await lastAccepted(interop)),
  }))
  const now = new SystemClock().wall()
  const rows = providers.map((provider) => ({ provider, last: accepted.get(provider.name) }))
  const on = providers.filter(({ isEnabled }) => isEnabled)
  const flags = sameFlags(context.given)
  return {
    result: {
      providers: rows.map(({ provider, last }) => resultOf(provider, last, now)),
      lines_searched: searched,
    },
    data: rows.map(({ provider, last }) => `${sayProvider(provider, last, now)}\n`).join(''),
    message: `${on.length} of ${rows.length} enabled; ${spellCount(searched, 'line')} of the audit searched for what came last`,
    warnings: on
      .filter(({ secrets }) => !secrets.some((secret) => isActive(secret, now)))
      .map(({ name }) => `no secret of ${name} counts any more: everything it sends is refused`),
    next:
      on[0] === undefined ? ['npx cairn hook add github --generate'] : [`npx cairn hook test ${on[0].name}${flags}`],
  }
}

async function lastAccepted({ client, call }: Interop) {
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

function sayProvider({ name, isEnabled, secrets }: HookProvider, last: Accepted | undefined, now: number): string {
  const places = secrets.map((secret) => saySecret(secret, now)).join(', ') || 'no secret'
  const came = last === undefined ? 'nothing accepted' : `accepted ${last.event} ${sayInstant(last.at)}`
  return `${name.padEnd(8)}  ${isEnabled ? 'enabled' : 'off'.padEnd(7)}  ${places}  ${came}`
}

function saySecret(secret: SecretPlace, now: number): string {
  const { id, notAfterMs } = secret
  if (notAfterMs === undefined) return `${id} (no end)`
  return `${id} (${isActive(secret, now) ? 'until' : 'ended'} ${sayInstant(notAfterMs)})`
}

function resultOf({ name, isEnabled, secrets }: HookProvider, last: Accepted | undefined, now: number) {
  return {
    provider: name,
    enabled: isEnabled,
    secrets: secrets.map((secret) => ({
      id: secret.id,
      not_after: secret.notAfterMs === undefined ? null : sayInstant(secret.notAfterMs),
      active: isActive(secret, now),
    })),
    last_accepted: last === undefined ? null : { at: sayInstant(last.at), event: last.event },
  }
}

/** One dead letter of a topic, tried once more. */
export const replay: Run = async (context): Promise<Outcome> => {
  const [topic = '', id = ''] = context.given.operands
  return await withInterop(context, async (interop) => await replayLetters(context, interop, topic, [id]))
}
