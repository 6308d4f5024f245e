/**
 * Room on the drive that no other program can take: a file of our own, beside the segments.
 *
 *     │ reserve ░░░░░░░░░░░░░░░░ │        a tombstone, a compaction or a new segment lacks room:
 *     │ reserve ░░░░░░░░ │ free  │        the file is cut, step by step
 *     │ reserve ░░░░░░░░░░░░░░░░ │        later, when the drive has room again: it grows in the background
 *
 * It is filled, not only lengthened, and with bytes that do not compress: else a file system would not set the blocks
 * aside. It holds nothing, so it is never synced and never read.
 */
import { type CairnError, Semaphore, sleep, toCairnError } from '@cairn/kernel'
import type { DiskFile } from '@cairn/platform'
import type { DriveDirectory, JournalMachine } from '../drive/drive.ts'
import * as room from './space-core.ts'

const NAME = 'reserve'
const BLOCK_BYTES = 64 * 1024
const SLICE_BYTES = 16 * BLOCK_BYTES
/** A start has better things to do, and a life shorter than this needs no reserve. */
const FIRST_MS = 10_000
/** About 20 MiB a second. */
const SLICE_MS = 50
/** When there was no room: how soon it is tried again. */
const AGAIN_MS = 60_000
/** What is given back at once at least: a segment, a tombstone and what the file system adds to them. */
const STEP_BYTES_MIN = 64 * 1024

export class Reserve {
  readonly #machine: JournalMachine
  readonly #directory: DriveDirectory
  readonly #space: room.SpaceCore
  readonly #turn = new Semaphore(1)
  readonly #stop = new AbortController()
  #file: DiskFile | undefined
  #growing: Promise<void> | undefined

  /** `directory` is on a drive for which no write of data waits. */
  constructor(machine: JournalMachine, directory: DriveDirectory, space: room.SpaceCore) {
    this.#machine = machine
    this.#directory = directory
    this.#space = space
  }

  /** Finds what an earlier life left; with `isKept` it is completed in the background, else given back. */
  async open(isKept: boolean): Promise<void> {
    try {
      const entries = await this.#directory.list()
      const isThere = entries.some(({ name }) => name === NAME)
      const wanted = isKept ? this.#space.reserveBytes : 0
      if (isThere && wanted === 0) await this.#directory.unlink(NAME)
      else if (isThere) await this.#adopt(wanted)
      // Where there is no device there is no other program that could take the room.
      if (wanted > 0 && (await this.#directory.space()).device !== undefined)
        this.#growing = this.#keepGrowing().catch((error: unknown) => this.#sayWhyNot(toCairnError(error)))
    } catch (error) {
      this.#machine.log.warn({ error }, 'the reserve on the drive is not to be had')
    }
  }

  /** Gives room back for a write of this size that may use the reserve. False if there is nothing left to give. */
  async giveBack(bytes: number): Promise<boolean> {
    using _turn = await this.#turn.acquire()
    const { heldBytes } = this.#space
    if (heldBytes === 0) return false
    const file = this.#file ?? (await this.#directory.open(NAME, 'append'))
    this.#file = file
    const left = Math.max(0, heldBytes - Math.max(bytes, STEP_BYTES_MIN))
    try {
      await this.#directory.truncate(file, left)
    } catch (error) {
      await this.#forgetFile()
      throw error
    }
    room.reserved(this.#space, left - heldBytes)
    this.#machine.log.warn({ given: heldBytes - left, left }, 'the drive is full: room of the reserve was given back')
    return true
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await Promise.allSettled([this.#growing])
    using _turn = await this.#turn.acquire()
    await this.#forgetFile()
  }

  async #adopt(wanted: number): Promise<void> {
    const file = await this.#directory.open(NAME, 'append')
    this.#file = file
    const size = await this.#directory.size(file)
    if (size > wanted) await this.#directory.truncate(file, wanted)
    this.#space.heldBytes = Math.min(size, wanted)
  }

  async #keepGrowing(): Promise<void> {
    const { signal } = this.#stop
    const { clock, random } = this.#machine
    let block: Uint8Array | undefined
    for (let pauseMs = FIRST_MS; ; ) {
      try {
        await sleep(clock, pauseMs, { signal })
      } catch {
        return
      }
      pauseMs = AGAIN_MS
      if (this.#space.heldBytes >= this.#space.reserveBytes) continue
      try {
        block ??= random.bytes(BLOCK_BYTES)
        if (await this.#grow(block)) pauseMs = SLICE_MS
      } catch (error) {
        this.#sayWhyNot(toCairnError(error))
      }
    }
  }

  /** One slice more; false if there is no room for it. */
  async #grow(block: Uint8Array): Promise<boolean> {
    using _turn = await this.#turn.acquire()
    const { freeBytes } = await this.#directory.space()
    room.answered(this.#space, freeBytes)
    const count = room.allocatable(this.#space, SLICE_BYTES)
    if (count === 0) return false
    const file = this.#file ?? (await this.#directory.open(NAME, 'append'))
    this.#file = file
    try {
      await this.#directory.append(file, blocksOf(block, count))
    } catch (error) {
      await this.#forgetFile()
      const again = await this.#directory.open(NAME, 'append')
      this.#file = again
      // How much of the slice arrived is not known; it goes back whole.
      await this.#directory.truncate(again, this.#space.heldBytes)
      throw error
    }
    room.reserved(this.#space, count)
    return true
  }

  async #forgetFile(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await Promise.allSettled([file?.close()])
  }

  #sayWhyNot(error: CairnError): void {
    if (error.status === 507) return
    this.#machine.log.warn({ error }, 'the reserve on the drive could not be completed')
  }
}

function blocksOf(block: Uint8Array, bytes: number): Uint8Array[] {
  const whole = Array.from({ length: Math.floor(bytes / block.length) }, () => block)
  return [...whole, block.subarray(0, bytes % block.length)]
}
