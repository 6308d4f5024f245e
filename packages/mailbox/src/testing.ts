import type { Runtime } from '@cairn/kernel'
import { Mailbox, type MailboxOptions } from './mailbox.ts'

/** A mailbox that lives as long as the process. */
export function openMemoryMailbox(runtime: Runtime, options: MailboxOptions): Mailbox {
  let place = 0
  const log = {
    submit: async (changes: Parameters<Mailbox['apply']>[0][]): Promise<void> => {
      for (const change of changes) {
        place += 1
        mailbox.apply(change, place, 0)
      }
      await Promise.resolve()
    },
  }
  const mailbox: Mailbox = new Mailbox(runtime, log, options)
  mailbox.begin()
  return mailbox
}
/** What tests and tools use and the product does not. */
export { JournalMailbox } from './journal-mailbox.ts'
