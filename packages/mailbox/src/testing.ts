/** What tests and tools use and the product does not. */
export { JournalMailbox } from './journal-mailbox.ts'
export { openMemoryMailbox } from './memory-mailbox.ts'
