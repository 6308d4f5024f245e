/** Exit codes are part of the interface: one table, from which every command's code and the help come. */
import type { CairnError, ErrorKind } from '@cairn/kernel'

export const EXIT_CODES = {
  ok: { code: 0, meaning: 'ok' },
  unexpected: { code: 1, meaning: 'unexpected' },
  usage: { code: 2, meaning: 'usage or configuration' },
  notFound: { code: 3, meaning: 'not found' },
  integrity: { code: 4, meaning: 'integrity or verification failed' },
  nodeUnavailable: { code: 5, meaning: 'node or port unavailable' },
  contentUnavailable: { code: 6, meaning: 'content or peer unavailable, timed out' },
  notAuthorised: { code: 7, meaning: 'not authorised' },
  conflict: { code: 8, meaning: 'conflict or precondition' },
  partial: { code: 9, meaning: 'partial' },
  fatal: { code: 70, meaning: 'a task of the node failed too often' },
  interrupted: { code: 130, meaning: 'interrupted' },
} as const satisfies Record<string, { code: number; meaning: string }>

type ExitName = keyof typeof EXIT_CODES

/** Codes that mean something else to a command line than their kind does. */
const BY_CODE: Readonly<Record<string, ExitName>> = {
  InvalidSig: 'integrity',
  NotASigner: 'notAuthorised',
  NotReady: 'nodeUnavailable',
  QuorumFailed: 'conflict',
  RevokedKey: 'notAuthorised',
  cannot_listen: 'nodeUnavailable',
  config_refused: 'usage',
  connection_lost: 'nodeUnavailable',
  data_locked: 'nodeUnavailable',
  draining: 'nodeUnavailable',
  insecure_public: 'usage',
  no_space: 'unexpected',
  not_ready: 'nodeUnavailable',
  partial: 'partial',
  unreachable: 'nodeUnavailable',
  unusable_pack: 'integrity',
}

const BY_KIND: Readonly<Record<ErrorKind, ExitName>> = {
  Busy: 'contentUnavailable',
  Timeout: 'contentUnavailable',
  Canceled: 'interrupted',
  Lagging: 'contentUnavailable',
  Paced: 'contentUnavailable',
  Overflow: 'contentUnavailable',
  BreakerOpen: 'contentUnavailable',
  ChainMismatch: 'conflict',
  StorageBusy: 'contentUnavailable',
  RejectPolicy: 'notAuthorised',
  Backpressure: 'contentUnavailable',
  Integrity: 'integrity',
  NotFound: 'notFound',
  Unauthorized: 'notAuthorised',
  Forbidden: 'notAuthorised',
  Conflict: 'conflict',
  TooLarge: 'usage',
  Malformed: 'usage',
  Internal: 'unexpected',
}

export function exitCodeOf({ kind, code }: Pick<CairnError, 'kind' | 'code'>): number {
  return EXIT_CODES[BY_CODE[code] ?? BY_KIND[kind]].code
}
