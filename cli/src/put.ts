/** `cairn put PATH…`: files, directories and standard input. Standard output is one address for each, nothing else. */
import { CairnError, isKind, SystemClock, toCairnError } from '@cairn/kernel'
import type { Cairn } from '@cairn/sdk'
import { type Address, spellBytes, spellCount, spellSeconds } from '@cairn/wire'
import { type CommandContext, type CommandHandler, type CommandOutcome, dataFlag } from './command.ts'
import { fileSource, type LinkTreatment, localDirectory, measure, type Skipped, targetStatOf } from './local-files.ts'
import { Progress } from './progress.ts'
import { withStorage } from './storage.ts'

export interface StoredPath {
  readonly path: string
  readonly kind: 'file' | 'tree'
  readonly address: Address
  /** Bytes of all files. */
  readonly bytes: number
  readonly new_bytes: number
  readonly files: number
  /** What a tree cannot hold. */
  readonly skipped: readonly Skipped[]
}

interface FailedPath {
  readonly path: string
  readonly error: CairnError
}

export const put: CommandHandler = async (context) =>
  await withStorage(context, async (cairn, signal) => {
    const progress = new Progress(context.terminal, context.given, new SystemClock())
    const stored: StoredPath[] = []
    const failed: FailedPath[] = []
    try {
      for (const path of context.given.operands) {
        try {
          stored.push(await putPath(cairn, path, { context, progress, signal }))
        } catch (error) {
          // One path that cannot be put does not keep the others; an interruption does.
          if (isKind(error, 'Canceled') || context.given.operands.length === 1) throw error
          failed.push({ path, error: toCairnError(error) })
        }
      }
    } finally {
      progress.end(
        stored.length === 0 ? undefined : { bytes: sum(stored, 'bytes'), newBytes: sum(stored, 'new_bytes') },
      )
    }
    return outcomeOf(stored, failed, progress.elapsedMs, dataFlag(context.given))
  })

interface Putting {
  readonly context: CommandContext
  readonly progress: Progress
  readonly signal: AbortSignal
}

export async function putPath(cairn: Cairn, path: string, { context, progress, signal }: Putting): Promise<StoredPath> {
  if (path === '-') {
    const onProgress = (now: { bytes: number; newBytes: number }): void => progress.show(now)
    const { address, size, newBytes } = await cairn.put(context.terminal.readBytes(), { signal, onProgress })
    return { path, kind: 'file', address, bytes: size, new_bytes: newBytes, files: 1, skipped: [] }
  }
  const found = await targetStatOf(path)
  if (found.isDirectory()) {
    const skipped: Skipped[] = []
    const totalBytes = progress.isShown ? await measure(path) : undefined
    const { address, bytes, newBytes, files } = await cairn.putTree(
      localDirectory(path, { links: linksOf(context.given), skipped }),
      {
        signal,
        onProgress: (now) => progress.show({ ...now, totalBytes }),
      },
    )
    return { path, kind: 'tree', address, bytes, new_bytes: newBytes, files, skipped }
  }
  const onProgress = (now: { bytes: number; newBytes: number }): void =>
    progress.show({ ...now, totalBytes: found.size })
  const { address, size, newBytes } = await cairn.put(fileSource(path), { signal, onProgress })
  return { path, kind: 'file', address, bytes: size, new_bytes: newBytes, files: 1, skipped: [] }
}

/** `--links`, whose choices the table names. */
export function linksOf(given: CommandContext['given']): LinkTreatment {
  const text = given.text('links')
  return text === 'follow' || text === 'skip' ? text : 'keep'
}

function outcomeOf(
  stored: readonly StoredPath[],
  failed: readonly FailedPath[],
  elapsedMs: number,
  flag: string,
): CommandOutcome {
  const [only] = failed
  if (stored.length === 0 && only !== undefined) throw only.error
  const bytes = sum(stored, 'bytes')
  const fresh = sum(stored, 'new_bytes')
  const old = Math.max(0, bytes - fresh)
  const skipped = stored.flatMap((object) => object.skipped)
  const what = `${spellCount(sum(stored, 'files'), 'file')}, ${spellBytes(bytes)} in ${spellSeconds(elapsedMs)}`
  const outcome: CommandOutcome = {
    result: {
      objects: stored.map((object) => ({ ...object, skipped: object.skipped.map(({ path }) => path) })),
      failed: failed.map(({ path, error }) => ({ path, code: error.code, detail: error.message })),
    },
    data: stored.map(({ address }) => `${address}\n`).join(''),
    message: `stored ${what}  (${spellBytes(fresh)} new, ${spellBytes(old)} already here)`,
  }
  if (failed.length === 0 && skipped.length === 0) return outcome
  const lines = [
    ...failed.map(({ path, error }) => `${path}: ${error.message}`),
    ...skipped.map(({ path, why }) => `${path}: left out, ${why}`),
  ]
  const detail = `Not everything was stored:\n${lines.join('\n')}`
  const error = new CairnError('Conflict', detail, { code: 'partial' })
  return { ...outcome, error, next: failed.map(({ path }) => `npx cairn put${flag} ${path}`) }
}

function sum(stored: readonly StoredPath[], field: 'bytes' | 'new_bytes' | 'files'): number {
  return stored.reduce((total, object) => total + object[field], 0)
}
