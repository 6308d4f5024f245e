/** Every sync a 202 stands on, taken out one at a time, and some lies: each must be missed by the power-cut campaign. */
import type { SourceMutant } from '../service-module.ts'

const APPENDER = 'packages/store/src/journal/appender.ts'
const LEDGER = 'services/interop/src/domain/ledger.ts'
const RECEIVER = 'services/interop/src/domain/receiver.ts'

export const SYNC_MUTANTS: readonly SourceMutant[] = [
  {
    name: 'a record of the journal is acknowledged without a sync',
    file: APPENDER,
    find: 'await this.#start.directory.sync(active.file)',
    replace: '',
  },
  {
    name: 'a webhook is answered before its record is durable',
    file: LEDGER,
    find: 'await submission.durable()',
    replace: "if (op !== 'accepted') await submission.durable()",
  },
  {
    name: 'the body is not waited for',
    file: RECEIVER,
    find: 'await this.#keep(webhook, address, context)',
    replace: 'this.#keep(webhook, address, context).catch(() => undefined)',
  },
  {
    name: 'the attempt of a delivery is not durable before the delivery',
    file: 'packages/mailbox/src/mailbox.ts',
    find: "await this.#log.submit([{ tag: 'delivery', id: message.id, attempt }])",
    replace:
      "this.#log.submit([{ tag: 'delivery', id: message.id, attempt }]).catch(() => undefined); entry.attempts = attempt",
  },
  {
    name: 'an acknowledgement is answered before it is durable',
    file: 'packages/mailbox/src/mailbox.ts',
    find: "await this.#log.submit([{ tag: 'ack', id: receipt.id }], { freesSpace: true })",
    replace: "this.#log.submit([{ tag: 'ack', id: receipt.id }], { freesSpace: true }).catch(() => undefined)",
  },
  {
    name: 'the replay key is not in the record of its messages',
    file: LEDGER,
    find: 'this.keys.add(record.replay, segment)',
    replace: 'if (this.mailbox.facts().leased > 0) this.keys.add(record.replay, segment)',
  },
  {
    name: 'a segment goes before what lives in it is written again',
    file: 'packages/mailbox/src/rolling-journal.ts',
    find: 'if (records.length > 0) await this.submit(records, { freesSpace: true }).durable()',
    replace: 'if (records.length > 0) break',
  },
  {
    name: 'the header of a new segment is not synced',
    file: 'packages/store/src/journal/segment-files.ts',
    find: 'await directory.sync(file)',
    replace: '',
  },
  {
    name: 'the name of a new segment is not synced',
    file: 'packages/store/src/journal/segment-files.ts',
    find: 'await directory.syncNames()',
    replace: '',
  },
]
