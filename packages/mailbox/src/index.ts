export { type Change, type ChangeJson, decodeChange, encodeChange, type Message } from './change.ts'
export { JournalMailbox, type JournalMailboxOptions } from './journal-mailbox.ts'
export {
  type ChangeLog,
  type Delivery,
  type LeaseOptions,
  type ListedMessage,
  Mailbox,
  type MailboxOptions,
  type PageOptions,
} from './mailbox.ts'
export type { Receipt } from './mailbox-core.ts'
export { openMemoryMailbox } from './memory-mailbox.ts'
export { MAILBOX_METRICS } from './metrics.ts'
export {
  type FoldedRecord,
  isShortOf,
  type Living,
  type Loss,
  RollingJournal,
  type RollingRecord,
  sayLoss,
} from './rolling-journal.ts'
export type { Tally } from './witness-file.ts'
