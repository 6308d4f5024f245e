/** `cairn audit`: what was let in and what was turned away, line by line. */
import { type AuditLine, decodeAuditLine } from '@cairn/clients'
import { CairnError, SystemClock, sleep } from '@cairn/kernel'
import { spellCount } from '@cairn/wire'
import type { CommandContext, Run } from './command.ts'
import { type Interop, withInterop } from './interop-service.ts'
import { untilInterrupted } from './interrupt.ts'
import { limitOf } from './mailbox.ts'
import { sameFlags, sayInstant } from './registry-words.ts'
import { visible } from './visible.ts'

/** What one request may ask for. */
export const AUDIT_PAGE = 1000
const LIMIT_DEFAULT = 100
const POLL_MS = 500

type Printed = Readonly<{ seq: number | null; text: string; result: unknown }>

export const audit: Run = async (context) => {
  const { given } = context
  const cursor = cursorOf(given.text('cursor'))
  const limit = limitOf(given.text('limit'), given.has('follow') ? Number.POSITIVE_INFINITY : LIMIT_DEFAULT)
  return await withInterop(context, async (interop) => {
    const from = cursor ?? (await newest(interop, Math.min(limit, LIMIT_DEFAULT)))
    if (given.has('follow')) return await follow(context, interop, from, limit)
    return await list(context, interop, from, limit)
  })
}

function cursorOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text)
  throw new CairnError('Malformed', `--cursor is the number of a line; not ${text}.`, { code: 'usage' })
}

/** The first of the last so many lines. */
async function newest({ client, call }: Interop, count: number): Promise<number> {
  const page = await client.audit(undefined, 1, call())
  return Math.max(page.first, page.count - count + 1)
}

async function list({ given, terminal }: CommandContext, { client, call }: Interop, from: number, limit: number) {
  const kept: unknown[] = []
  let [cursor, count, total] = [from, 0, 0]
  let first = from
  while (count < limit) {
    const page = await client.audit(cursor, Math.min(AUDIT_PAGE, limit - count), call())
    const lines = page.lines.map(printed)
    if (given.has('json')) kept.push(...lines.map(({ result }) => result))
    else terminal.write(lines.map(({ text }) => `${visible(text)}\n`).join(''))
    if (count === 0) first = page.next - page.lines.length
    count += page.lines.length
    cursor = page.next
    total = page.count
    if (page.lines.length === 0 || cursor > total) break
  }
  const isMore = cursor <= total
  const flags = sameFlags(given)
  return {
    result: { lines: kept, first, next: cursor, count: total },
    message: `${spellCount(count, 'line')} of ${total}`,
    warnings: first > from && from > 0 ? [`lines before ${first} are not here any more`] : [],
    next: isMore ? [`npx cairn audit${flags} --cursor ${cursor}`] : [`npx cairn audit verify${flags}`],
  }
}

/** Lines as they come, until there were enough or somebody interrupts. */
async function follow(context: CommandContext, { client, call }: Interop, from: number, limit: number) {
  const { given, terminal, print } = context
  const clock = new SystemClock()
  return await untilInterrupted(async (signal) => {
    let [cursor, left] = [from, limit]
    for (;;) {
      const page = await client.audit(cursor, Math.min(AUDIT_PAGE, left), { ...call(), signal })
      for (const { text, result } of page.lines.map(printed)) {
        if (given.has('json')) print({ result })
        else terminal.write(`${visible(text)}\n`)
      }
      cursor = page.next
      left -= page.lines.length
      if (left <= 0) return 0
      if (page.lines.length === 0) await sleep(clock, POLL_MS, { signal })
    }
  })
}

/** A line in words and as an object; one that was edited is shown as it is, and called so. */
function printed(bytes: Uint8Array): Printed {
  try {
    const line = decodeAuditLine(bytes)
    return { seq: line.seq, text: sayLine(line), result: { ...line, at: sayInstant(line.at) } }
  } catch {
    const raw = new TextDecoder().decode(bytes)
    return { seq: null, text: `?  damaged  ${JSON.stringify(raw)}`, result: { damaged: raw } }
  }
}

function sayLine({ seq, at, decision, action, provider, event, reason, b3 }: AuditLine): string {
  return [seq, sayInstant(at), decision, action, provider || '-', event || '-', reason || '-', b3 ?? '-'].join('  ')
}
