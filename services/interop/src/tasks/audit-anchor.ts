/**
 * Writes the head of the chain into the registry, so that not even we can change what lies before it; and holds our chain
 * against what the registry has of it, so that lines that vanish here are missed.
 *
 *     newest anchor of our chain ─▶ fewer lines here, or others ─▶ only reads
 *                                └─ all of them ─▶ more since then? ─▶ anchored, and the checkpoint after it kept
 *
 * An anchor that the registry gave us and does not know any more is the registry's own loss: it is shown that checkpoint.
 */
import type { CallContext, RegistryClient } from '@cairn/clients'
import { Deadline, sleep, type TaskBody, toCairnError } from '@cairn/kernel'
import { type Platform, readSmallFile, replaceSmallFile } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import type { InteropParts } from '../parts.ts'

const CALL_MS = 5000
/** A start waits no longer for a registry that may be away. */
const START_CALL_MS = 2000
const CHAIN_ID_LENGTH = 32

/** The same for every life of the node, and for no other node: several may anchor in one log. */
export function auditChainId(identitySeed: Uint8Array): string {
  const context = new TextEncoder().encode('cairn audit chain\n')
  const bytes = new Uint8Array(context.length + identitySeed.length)
  bytes.set(context)
  bytes.set(identitySeed, context.length)
  return addressOf(bytes).slice('b3:'.length, 'b3:'.length + CHAIN_ID_LENGTH)
}

export function auditAnchor(platform: Platform, parts: InteropParts, intervalMs: number): TaskBody {
  return async ({ draining }) => {
    const { registry } = parts
    if (registry === undefined) return
    for (;;) {
      await sleep(platform.clock, intervalMs, { signal: draining })
      if (await compareAnchor(platform, parts, draining, CALL_MS)) await anchorOnce(platform, parts, registry, draining)
    }
  }
}

/** Holds the chain against the newest anchor of it. Whether that could be done, and nothing is missing. */
export async function compareAnchor(
  { clock, log }: Platform,
  { ledger, registry, chainId, pressure, seen }: InteropParts,
  signal: AbortSignal,
  withinMs = START_CALL_MS,
): Promise<boolean> {
  if (registry === undefined) return false
  if (chainId === undefined) return true
  const context = { deadline: Deadline.after(clock, withinMs), signal }
  try {
    const known = await pressure.call('registry', 'newest_anchor', context, async (call) => {
      return await registry.newestAuditHead(chainId, call)
    })
    if (known !== undefined) await ledger.compare({ count: known.count, head: known.head })
    if ((known?.count ?? 0) < ledger.chain.anchored.count) await showSeen(registry, seen, context)
  } catch (error) {
    if (signal.aborted) throw error
    log.warn({ error: toCairnError(error).message }, 'the audit was not compared with its anchor in the registry yet')
    return false
  }
  return ledger.lost.value === undefined
}

/** The registry does not know an anchor that it gave us: it may have been put back from an older copy, and is told. */
async function showSeen(registry: RegistryClient, seen: SeenCheckpoint, context: CallContext): Promise<void> {
  const note = await seen.read()
  if (note !== undefined) await registry.showCheckpoint(note, context)
}

/** The checkpoint of the registry after our newest anchor, as it signed it. */
export class SeenCheckpoint {
  readonly #disk: Platform['disk']
  readonly #path: string

  constructor({ disk }: Pick<Platform, 'disk'>, directory: string) {
    this.#disk = disk
    this.#path = `${directory}/registry-checkpoint`
  }

  async keep(note: Uint8Array): Promise<void> {
    await replaceSmallFile(this.#disk, this.#path, note)
  }

  async read(): Promise<Uint8Array | undefined> {
    return await readSmallFile(this.#disk, this.#path)
  }
}

/** Anchors what is durable now, if that is more than before. */
async function anchorOnce(
  { clock, log }: Platform,
  { ledger, pressure, chainId, seen }: InteropParts,
  registry: RegistryClient,
  signal: AbortSignal,
): Promise<void> {
  const { point, anchored } = ledger.chain
  if (point.count === anchored.count) return
  const context = { deadline: Deadline.after(clock, CALL_MS), signal }
  try {
    const { head, count } = point
    const chain = chainId === undefined ? {} : { chain: chainId }
    const index = await pressure.call('registry', 'anchor', context, async (call) => {
      return await registry.auditHead({ head, count, ...chain }, call)
    })
    await ledger.anchor(point, index)
    if (chainId !== undefined) await seen.keep(await registry.checkpoint(context))
  } catch (error) {
    if (signal.aborted) throw error
    log.warn(
      { error: toCairnError(error).message },
      'the head of the audit was not anchored; the next round tries again',
    )
  }
}
