/**
 * The newest checkpoint a log has signed, kept outside of its data directory: a copy of the directory that is put back
 * has forgotten what was signed since, and everything in it says that it is whole.
 *
 *     $CAIRN_STATE/logs/<hash of the origin>.json     {schema, origin, size, note, directory}
 *
 * Keyed by the log alone. Where the directory lay is only a hint for people; it decides nothing. A record that cannot be
 * read or written is told, and never keeps a registry from working.
 */
import { type CairnError, toCairnError } from '@cairn/kernel'
import {
  MemoryDisk,
  makeDirectories,
  type Platform,
  readSmallJson,
  replaceSmallJson,
  stateDirectory,
} from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { z } from 'zod'

const SCHEMA = 'cairn.signed/1'
const NAME_LENGTH = 32

const record = z.strictObject({
  schema: z.literal(SCHEMA),
  origin: z.string(),
  size: z.int().min(1),
  /** The signed note, which proves the rest. */
  note: z.string(),
  directory: z.string(),
})

export function signedRecordPath(state: string, origin: string): string {
  const name = addressOf(new TextEncoder().encode(origin)).slice('b3:'.length, 'b3:'.length + NAME_LENGTH)
  return `${state}/logs/${name}.json`
}

export class SignedRecords {
  readonly #platform: Platform
  readonly #directory: string
  readonly #state: string | undefined
  #problem: string | undefined

  /** None in amnesia, whose logs end with the process. */
  constructor(platform: Platform, directory: string) {
    this.#platform = platform
    this.#directory = directory
    this.#state = platform.disk instanceof MemoryDisk ? undefined : stateDirectory(platform.process.environment)
    if (this.#state === undefined) this.#problem = 'neither CAIRN_STATE, XDG_STATE_HOME nor HOME names a directory'
  }

  /** Why nothing is kept; nothing while it is. */
  get problem(): string | undefined {
    return this.#problem
  }

  /** The newest note that is known outside; nothing if none is. */
  async read(origin: string): Promise<Uint8Array | undefined> {
    if (this.#state === undefined) return undefined
    try {
      const read = await readSmallJson(this.#platform.disk, signedRecordPath(this.#state, origin), record)
      if (read.tag === 'read' && read.value.origin === origin) return new TextEncoder().encode(read.value.note)
      if (read.tag === 'damaged') this.#told(`${signedRecordPath(this.#state, origin)} is damaged`)
      return undefined
    } catch (error) {
      this.#told(toCairnError(error).message)
      return undefined
    }
  }

  async write(origin: string, size: number, note: Uint8Array): Promise<void> {
    if (this.#state === undefined) return
    const path = signedRecordPath(this.#state, origin)
    const value = { schema: SCHEMA, origin, size, note: new TextDecoder().decode(note), directory: this.#directory }
    try {
      await makeDirectories(this.#platform.disk, `${this.#state}/logs`)
      await replaceSmallJson(this.#platform.disk, path, value)
      this.#problem = undefined
    } catch (error) {
      this.#told(`${path}: ${(toCairnError(error) satisfies CairnError).message}`)
    }
  }

  /** Once for each reason. */
  #told(problem: string): void {
    if (this.#problem === problem) return
    this.#problem = problem
    this.#platform.log.warn({ problem }, 'what was signed is not kept outside of the data directory')
  }
}
