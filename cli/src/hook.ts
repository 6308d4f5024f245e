/** `cairn hook ls|replay`: which providers are let in, and what of theirs is tried once more. */
import { decodeAuditLine } from '@cairn/clients'
import { SystemClock } from '@cairn/kernel'
import { AUDIT_PAGE } from './audit.ts'
import type { CommandContext, Outcome, Run } from './command.ts'
import { type HookProvider, isActive, readHookConfig, type SecretPlace } from './hook-config.ts'
import { type Interop, withInterop } from './interop-service.ts'
import { replayLetters } from './mailbox.ts'
import { withNode } from './node-admin.ts'
import { sameFlags, sayInstant } from './registry-words.ts'

/** How far back the audit is searched for what each provider sent last. */
const LINES_SEARCHED = 10_000

interface Accepted {
  readonly at: number
  readonly event: string
}

/** Every provider: whether it is let in, until when its secrets count, and what came last. */
export const ls: Run = async (context) => {
  const { providers } = await readHookConfig(context)
  const running = await enabledInNode(context)
  const { accepted, searched } = await withInterop(context, lastAccepted)
  const now = new SystemClock().wall()
  const rows = providers.map((provider) => ({
    provider,
    last: accepted.get(provider.name),
    isOn: running.has(provider.name),
  }))
  const on = rows.filter(({ isOn }) => isOn)
  const flags = sameFlags(context.given)
  return {
    result: {
      providers: rows.map(({ provider, last, isOn }) => resultOf(provider, last, isOn, now)),
      lines_searched: searched,
    },
    data: rows.map(({ provider, last, isOn }) => `${sayProvider(provider, last, isOn, now)}\n`).join(''),
    message: `${on.length} of ${rows.length} enabled; what was accepted last is from the newest ${searched} lines of the audit`,
    warnings: rows.flatMap(({ provider, isOn }) => warningsOf(provider, isOn, now)),
    next:
      on.length === 0
        ? ['npx cairn hook add github --generate']
        : [`npx cairn hook test ${on[0]?.provider.name ?? ''}${flags}`],
  }
}

/** What is in force is for the running node to say; where the secrets are, it does not tell. */
async function enabledInNode(context: CommandContext): Promise<ReadonlySet<string>> {
  const config = await withNode(context, async (node) => await node.config())
  return new Set(
    config.flatMap(({ key, value }) => {
      const [, name] = /^interop\.providers\.(\w+)\.enabled$/.exec(key) ?? []
      return name !== undefined && value === true ? [name] : []
    }),
  )
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

function sayProvider({ name, secrets }: HookProvider, last: Accepted | undefined, isOn: boolean, now: number): string {
  const places = secrets.map((secret) => saySecret(secret, now)).join(', ') || 'no secret'
  const came = last === undefined ? 'nothing accepted' : `accepted ${last.event} ${sayInstant(last.at)}`
  return `${name.padEnd(8)}  ${isOn ? 'enabled' : 'off'.padEnd(7)}  ${places}  ${came}`
}

function saySecret(secret: SecretPlace, now: number): string {
  const { id, notAfter } = secret
  if (notAfter === undefined) return `${id} (no end)`
  return `${id} (${isActive(secret, now) ? 'until' : 'ended'} ${notAfter})`
}

function resultOf({ name, isEnabled, secrets }: HookProvider, last: Accepted | undefined, isOn: boolean, now: number) {
  return {
    provider: name,
    enabled: isOn,
    configured: isEnabled,
    secrets: secrets.map((secret) => ({
      id: secret.id,
      not_after: secret.notAfter ?? null,
      active: isActive(secret, now),
    })),
    last_accepted: last === undefined ? null : { at: sayInstant(last.at), event: last.event },
  }
}

function warningsOf({ name, isEnabled, secrets }: HookProvider, isOn: boolean, now: number): string[] {
  const other = isEnabled
    ? 'is enabled in the configuration here, but not in'
    : 'is off in the configuration here, but not in'
  const isAllOver = isOn && secrets.length > 0 && !secrets.some((secret) => isActive(secret, now))
  return [
    ...(isEnabled === isOn ? [] : [`${name} ${other} the running node; a change takes effect with the next start`]),
    ...(isAllOver ? [`no secret of ${name} counts any more: everything it sends is refused`] : []),
  ]
}

/** One dead letter of a topic, tried once more. */
export const replay: Run = async (context): Promise<Outcome> => {
  const [topic = '', id = ''] = context.given.operands
  return await withInterop(context, async (interop) => await replayLetters(context, interop, topic, [id]))
}
