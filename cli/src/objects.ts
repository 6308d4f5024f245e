/** `cairn ls`: the objects of the node, or what a directory lists. */
import { CairnError } from '@cairn/kernel'
import type { Cairn, ListedObject } from '@cairn/sdk'
import { type Address, parseAddress, type TreeEntry } from '@cairn/wire'
import { type CommandContext, type CommandHandler, type CommandOutcome, dataFlag } from './command.ts'
import { type ResolvedAddress, resolveAddress } from './get.ts'
import { withStorage } from './storage.ts'
import { escapeControls } from './terminal-text.ts'

// `cairn rm ADDRESS`

export const rm: CommandHandler = async (context) => {
  const address = parseAddress(context.given.operands[0] ?? '')
  await withStorage(context, async (cairn, signal) => await cairn.remove(address, { signal }))
  return { result: { address, removed: true }, message: `${address} is gone` }
}

const LIMIT_DEFAULT = 1000
/** What one request may ask for. */
const PAGE = 1000

export const ls: CommandHandler = async (context) => {
  const [text] = context.given.operands
  const meant = text === undefined ? undefined : await resolveAddress(context, text)
  return await withStorage(context, async (cairn, signal) => {
    return meant === undefined ? await objects(cairn, context, signal) : await entries(cairn, meant, signal)
  })
}

async function entries(
  cairn: Cairn,
  { address, warnings }: ResolvedAddress,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const found = await cairn.readTree(address, { signal })
  return {
    result: { address, entries: found.map(jsonOf) },
    data: found.map((entry) => `${rowOf(entry)}\n`).join(''),
    warnings,
  }
}

function jsonOf(entry: TreeEntry) {
  if (entry.kind === 'link') return entry
  const { id, ...rest } = entry
  return { ...rest, address: id }
}

/** The columns stay where they are: an executable file is a kind of its own, and a link has neither address nor size. */
function rowOf(entry: TreeEntry): string {
  const name = escapeControls(entry.name)
  if (entry.kind === 'link') return `-  link  -  ${name} -> ${escapeControls(entry.target)}`
  const kind = entry.kind === 'file' && entry.executable ? 'exec' : entry.kind
  return `${entry.id}  ${kind}  ${entry.size}  ${name}`
}

/** Page after page, each printed as it comes: a million rows are never held, but where one JSON object has to. */
async function objects(
  cairn: Cairn,
  { given, terminal }: CommandContext,
  signal: AbortSignal,
): Promise<CommandOutcome> {
  const limit = limitOf(given.text('limit'))
  const after = given.text('after')
  const kept: ListedObject[] = []
  let cursor: Address | undefined = after === undefined ? undefined : parseAddress(after)
  for (let left = limit; left > 0; ) {
    const page = await cairn.list({ cursor, limit: Math.min(PAGE, left), signal })
    if (given.has('json')) kept.push(...page.objects)
    else
      terminal.write(
        page.objects.map(({ address, size, type }) => `${address}  ${size}  ${escapeControls(type)}\n`).join(''),
      )
    left -= page.objects.length
    cursor = page.cursor
    if (cursor === undefined) break
  }
  const next = cursor === undefined ? [] : [`npx cairn ls${dataFlag(given)} --after ${cursor}`]
  const warnings = cursor === undefined ? [] : ['there are more objects than these']
  return { result: { objects: kept, cursor: cursor ?? null }, warnings, next }
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return LIMIT_DEFAULT
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new CairnError('Malformed', `--limit is a whole number from 1 on; not ${text}.`, { code: 'usage' })
}
