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
export { type FoldedRecord, type Living, RollingJournal, type RollingRecord } from './rolling-journal.ts'
