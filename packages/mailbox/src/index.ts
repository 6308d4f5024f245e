export { type ChangeJson, decodeChange, encodeChange, type MailboxChange, type Message } from './change.ts'
export { type JournalMailboxOptions } from './journal-mailbox.ts'
export {
  type ChangeLog,
  type Delivery,
  type LeaseOptions,
  type ListedMessage,
  MAILBOX_METRICS,
  Mailbox,
  type MailboxOptions,
  type PageOptions,
} from './mailbox.ts'
export type { Receipt } from './mailbox-core.ts'
export {
  type FoldedRecord,
  isShortOf,
  type LiveRecords,
  type Loss,
  RollingJournal,
  type RollingRecord,
} from './rolling-journal.ts'
export type { JournalTotals } from './witness-file.ts'
