/** A mailbox with a journal of its own. */
import { Closeable } from '@cairn/kernel'
import type { JournalMachine } from '@cairn/store'
import { decodeChange, encodeChange, type MailboxChange } from './change.ts'
import { type ChangeLog, Mailbox, type MailboxOptions } from './mailbox.ts'
import {
  type FoldedRecord,
  journalDamaged,
  type LiveRecords,
  RollingJournal,
  type RollingRecord,
} from './rolling-journal.ts'
import type { JournalTotals } from './witness-file.ts'

export interface JournalMailboxOptions extends MailboxOptions {
  readonly path: string
  readonly segmentBytes?: number
}

const CHANGE = 1
/** Messages written again at once. */
const CARRY_MAX = 256

export class JournalMailbox extends Closeable {
  readonly mailbox: Mailbox
  readonly #journal: RollingJournal

  private constructor(machine: JournalMachine, mailbox: Mailbox, journal: RollingJournal) {
    super(machine, 'journal mailbox')
    this.mailbox = mailbox
    this.#journal = journal
  }

  static async open(machine: JournalMachine, options: JournalMailboxOptions): Promise<JournalMailbox> {
    const { path, segmentBytes } = options
    let journal: RollingJournal | undefined
    const log: ChangeLog = {
      submit: async (changes, { freesSpace = false } = {}) => {
        await journal?.submit(changes.map(recordOf), { freesSpace }).durable()
      },
    }
    const mailbox = new Mailbox(machine, log, options)
    const fold = ({ payload, lsn, segment }: FoldedRecord): void => mailbox.apply(changeIn(payload), lsn, segment)
    try {
      const tally = (): JournalTotals => ({ count: 0, head: '' })
      journal = await RollingJournal.open(machine, { path, witness: `${path}.witness`, segmentBytes, fold, tally })
      if (journal.loss !== undefined) throw journalDamaged(path, journal.loss)
    } catch (error) {
      await journal?.close()
      await mailbox.close()
      throw error
    }
    mailbox.begin()
    return new JournalMailbox(machine, mailbox, journal)
  }

  /** Removes old segments while the journal is larger than this; returns how many it removed. */
  async trim(keepBytes: number): Promise<number> {
    return await this.#journal.trim(keepBytes, { living: (segment) => this.#living(segment) })
  }

  get bytes(): number {
    return this.#journal.bytes
  }

  protected override async release(): Promise<void> {
    await this.mailbox.close()
    await this.#journal.close()
  }

  #living(segment: number): LiveRecords {
    const { changes, isWhole } = this.mailbox.livingIn(segment, CARRY_MAX)
    return { records: changes.map(recordOf), isWhole }
  }
}

function recordOf(change: MailboxChange): RollingRecord {
  return { kind: CHANGE, payload: new TextEncoder().encode(JSON.stringify(encodeChange(change))) }
}

function changeIn(payload: Uint8Array): MailboxChange {
  return decodeChange(JSON.parse(new TextDecoder().decode(payload)))
}
