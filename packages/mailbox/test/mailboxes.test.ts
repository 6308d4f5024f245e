import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CairnError } from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import { type ChangeLog, Mailbox } from '../src/index.ts'
import { JournalMailbox, openMemoryMailbox } from '../src/testing.ts'
import { memoryMachine } from './journal-machine.ts'
import { COMPLIANCE, leased, message, OPTIONS, refused } from './mailbox-compliance.ts'

describe('memory', () => {
  for (const { name, run } of COMPLIANCE) {
    test(name, async () => {
      const machine = memoryMachine()
      const mailbox = openMemoryMailbox(machine, OPTIONS)
      await run({ mailbox, machine })
      await mailbox.close()
      assert.deepEqual(leaks(machine), [])
    })
  }
})

const JOURNAL = { ...OPTIONS, path: 'data' }

describe('journal', () => {
  for (const { name, run } of COMPLIANCE) {
    test(name, async () => {
      const machine = memoryMachine()
      const kept = await JournalMailbox.open(machine, JOURNAL)
      await run({ mailbox: kept.mailbox, machine })
      await kept.close()
      assert.deepEqual(leaks(machine), [])
    })
  }

  test('a restart voids every lease and loses nothing: messages, attempts, dead letters, order', async () => {
    const machine = memoryMachine()
    const before = await JournalMailbox.open(machine, JOURNAL)
    for (const id of ['1', '2', '3']) await before.mailbox.send(message(id, 'k'))
    await before.mailbox.send(message('x'))
    await before.mailbox.send(message('dead', undefined, 'graves'))
    for (let attempt = 0; attempt < 10; attempt += 1)
      before.mailbox.nack('graves', (await leased(before.mailbox, 'graves')).receipt)
    const first = await leased(before.mailbox)
    const second = await leased(before.mailbox)
    await before.mailbox.ack('orders', second.receipt)
    await before.close()

    const after = await JournalMailbox.open(machine, JOURNAL)
    assert.deepEqual(after.mailbox.facts(), { live: 3, dead: 1, leased: 0 })
    await refused(after.mailbox.ack('orders', first.receipt))
    const again = await leased(after.mailbox)
    assert.equal(`${again.message.id} ${again.receipt.attempt}`, '1 2')
    await after.mailbox.ack('orders', again.receipt)
    assert.equal((await leased(after.mailbox)).message.id, '2')
    assert.equal(await after.mailbox.replay('graves', undefined), 1)
    await after.close()
  })

  test('what was carried to a later segment is listed where it came, not where it lies', async () => {
    const machine = memoryMachine()
    const log: ChangeLog = { submit: async () => await Promise.resolve() }
    const mailbox = new Mailbox(machine, log, OPTIONS)
    mailbox.apply({ tag: 'message', message: message('3') }, 3, 2)
    mailbox.apply({ tag: 'carry', message: message('1'), place: 1, attempts: 0 }, 4, 2)
    mailbox.begin()
    assert.deepEqual(
      mailbox.peek('orders', { limit: 2 }).map((each) => each.message.id),
      ['1', '3'],
    )
    await mailbox.close()
  })

  test('the tenth delivery of an earlier life was the last: the message is dead when the journal is opened', async () => {
    const machine = memoryMachine()
    const before = await JournalMailbox.open(machine, JOURNAL)
    await before.mailbox.send(message('a'))
    for (let attempt = 0; attempt < 9; attempt += 1)
      before.mailbox.nack('orders', (await leased(before.mailbox)).receipt)
    await leased(before.mailbox)
    await before.close()
    const after = await JournalMailbox.open(machine, JOURNAL)
    assert.deepEqual(after.mailbox.facts(), { live: 0, dead: 1, leased: 0 })
    await after.close()
  })

  test('the journal stays bounded: what was acknowledged goes, what lives is written again and keeps its turn', async () => {
    const machine = memoryMachine()
    const small = { ...JOURNAL, segmentBytes: 8 * 1024, maxMessages: 1000 }
    const kept = await JournalMailbox.open(machine, small)
    await kept.mailbox.send(message('old-1', 'k'))
    await kept.mailbox.send(message('old-2', 'k'))
    const { receipt } = await leased(kept.mailbox)
    mailboxNack(kept, receipt)
    for (let round = 0; round < 300; round += 1) {
      await kept.mailbox.send(message(`r${round}`, undefined, 'busy'))
      await kept.mailbox.ack('busy', (await leased(kept.mailbox, 'busy')).receipt)
      await kept.trim(32 * 1024)
      assert.ok(kept.bytes <= 48 * 1024, `the journal has ${kept.bytes} bytes`)
    }
    await kept.close()
    const after = await JournalMailbox.open(machine, small)
    assert.deepEqual(after.mailbox.facts(), { live: 2, dead: 0, leased: 0 })
    const first = await leased(after.mailbox)
    assert.equal(`${first.message.id} ${first.receipt.attempt}`, 'old-1 2')
    await after.close()
  })

  test('a damaged journal is refused, not guessed at', async () => {
    const machine = memoryMachine()
    const kept = await JournalMailbox.open(machine, JOURNAL)
    for (const id of ['a', 'b', 'c']) await kept.mailbox.send(message(id))
    await kept.close()
    await damage(machine)
    await assert.rejects(JournalMailbox.open(machine, JOURNAL), { code: 'journal_damaged' })
    assert.deepEqual(leaks(machine), [])
  })
})

test('an acknowledgement that cannot be written leaves the lease as it was', async () => {
  const machine = memoryMachine()
  const drive = { isBroken: false, place: 0 }
  const log: ChangeLog = {
    submit: async (changes) => {
      if (drive.isBroken) throw new CairnError('StorageBusy', 'The drive refuses.')
      for (const change of changes) mailbox.apply(change, (drive.place += 1), 0)
      await Promise.resolve()
    },
  }
  const mailbox: Mailbox = new Mailbox(machine, log, OPTIONS)
  mailbox.begin()
  await mailbox.send(message('a'))
  const { receipt } = await leased(mailbox)
  drive.isBroken = true
  await assert.rejects(mailbox.ack('orders', receipt), { kind: 'StorageBusy' })
  drive.isBroken = false
  await mailbox.ack('orders', receipt)
  assert.deepEqual(mailbox.facts(), { live: 0, dead: 0, leased: 0 })
  await mailbox.close()
  assert.deepEqual(leaks(machine), [])
})

function mailboxNack({ mailbox }: JournalMailbox, receipt: Parameters<JournalMailbox['mailbox']['nack']>[1]): void {
  mailbox.nack('orders', receipt)
}

/** Flips a bit of the second record. */
async function damage({ disk }: ReturnType<typeof memoryMachine>): Promise<void> {
  const path = 'data/0000000001.seg'
  const file = await disk.open(path, { mode: 'append' })
  const bytes = new Uint8Array(await file.size())
  await file.read(0, bytes)
  const at = 128 + 72 + 48 + 80
  bytes[at] = (bytes[at] ?? 0) ^ 1
  await file.truncate(0)
  await file.append([bytes])
  await file.sync()
  await file.close()
}
