import type { Source } from '../suite.ts'

/** What interop decides by, as modules, so that the same model runs on the real ones and on a broken copy. */
export interface InteropCores {
  readonly keys: typeof import('../../../services/interop/src/domain/replay-keys.ts')
  readonly chain: typeof import('../../../services/interop/src/domain/audit-chain.ts')
}

export interface MailboxCores {
  readonly mailbox: typeof import('../../../packages/mailbox/src/mailbox-core.ts')
}

export const INTEROP: Source<InteropCores> = {
  directory: new URL('../../../services/interop/src/', import.meta.url),
  async load(directory) {
    const source = (file: string): string => new URL(file, directory).href
    const keys = (await import(source('domain/replay-keys.ts'))) as InteropCores['keys']
    const chain = (await import(source('domain/audit-chain.ts'))) as InteropCores['chain']
    return { keys, chain }
  },
}

export const MAILBOX: Source<MailboxCores> = {
  directory: new URL('../../../packages/mailbox/src/', import.meta.url),
  async load(directory) {
    const mailbox = (await import(new URL('mailbox-core.ts', directory).href)) as MailboxCores['mailbox']
    return { mailbox }
  },
}
