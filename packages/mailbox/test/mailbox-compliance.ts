/** What every mailbox promises, whatever it is kept in. */
import assert from 'node:assert/strict'
import { isKind, sleep } from '@cairn/kernel'
import type { Delivery, ListedMessage, Mailbox, Message } from '../src/index.ts'
import type { MailboxMachine } from './journal-machine.ts'

export interface Subject {
  readonly mailbox: Mailbox
  readonly machine: MailboxMachine
}

interface Case {
  readonly name: string
  run(subject: Subject): Promise<void>
}

export const OPTIONS = { visibilityMs: 30_000, maxDeliveries: 10, maxMessages: 50 }

export function message(id: string, key?: string, topic = 'orders'): Message {
  return { id, topic, key, body: `{"n":"${id}"}`, sentAt: 1000 }
}

export async function leased(mailbox: Mailbox, topic = 'orders'): Promise<Delivery> {
  const delivery = await mailbox.lease(topic)
  assert.ok(delivery !== undefined, 'a message should have been there')
  return delivery
}

export async function refused(work: Promise<unknown> | (() => unknown), code = 'lease_lost'): Promise<void> {
  await assert.rejects(
    async () => {
      await (typeof work === 'function' ? work() : work)
    },
    { code },
  )
}

function shown(page: readonly ListedMessage[]): string[] {
  return page.map(({ message: { id }, state }) => `${id} ${state}`)
}

export const COMPLIANCE: readonly Case[] = [
  {
    name: 'a message is delivered with a receipt, and is gone once acknowledged',
    run: async ({ mailbox }) => {
      await mailbox.send(message('a'))
      const { message: got, receipt, visibilityMs } = await leased(mailbox)
      assert.deepEqual(got, message('a'))
      assert.equal(`${receipt.id} ${receipt.attempt} ${visibilityMs}`, 'a 1 30000')
      assert.match(receipt.nonce, /^[0-9a-f]{32}$/)
      await mailbox.ack('orders', receipt)
      assert.equal(await mailbox.lease('orders'), undefined)
      assert.deepEqual(mailbox.facts(), { live: 0, dead: 0, leased: 0 })
    },
  },
  {
    name: 'a message that is leased is nobody else’s',
    run: async ({ mailbox }) => {
      await mailbox.send(message('a'))
      await leased(mailbox)
      assert.equal(await mailbox.lease('orders'), undefined)
      assert.equal(await mailbox.lease('other'), undefined)
    },
  },
  {
    name: 'a second message with the same id is the first one',
    run: async ({ mailbox }) => {
      await mailbox.send(message('a'))
      await mailbox.send(message('a'))
      assert.equal(mailbox.facts().live, 1)
    },
  },
  {
    name: 'an expired consumer cannot acknowledge the lease of another',
    run: async ({ mailbox, machine }) => {
      await mailbox.send(message('a'))
      const first = await leased(mailbox)
      machine.clock.advance(29_999)
      assert.equal(await mailbox.lease('orders'), undefined)
      machine.clock.advance(1)
      const second = await leased(mailbox)
      assert.equal(second.receipt.attempt, 2)
      await refused(mailbox.ack('orders', first.receipt))
      await refused(() => mailbox.nack('orders', first.receipt))
      await refused(mailbox.ack('orders', { ...second.receipt, nonce: first.receipt.nonce }))
      await refused(mailbox.ack('elsewhere', second.receipt))
      await mailbox.ack('orders', second.receipt)
      await refused(mailbox.ack('orders', second.receipt))
    },
  },
  {
    name: 'an expired lease is not good even where nobody has taken the message since',
    run: async ({ mailbox, machine }) => {
      await mailbox.send(message('a'))
      const { receipt } = await leased(mailbox)
      machine.clock.advance(30_000)
      await refused(mailbox.ack('orders', receipt))
    },
  },
  {
    name: 'a message given back is delivered again at once, with the next attempt',
    run: async ({ mailbox }) => {
      await mailbox.send(message('a'))
      const { receipt } = await leased(mailbox)
      mailbox.nack('orders', receipt)
      assert.equal((await leased(mailbox)).receipt.attempt, 2)
    },
  },
  {
    name: 'ten deliveries without an acknowledgement make a dead letter; a replay brings it back under its id',
    run: async ({ mailbox, machine }) => {
      await mailbox.send(message('a'))
      for (let attempt = 1; attempt <= 10; attempt += 1) {
        const { receipt } = await leased(mailbox)
        assert.equal(receipt.attempt, attempt)
        if (attempt % 2 === 0) mailbox.nack('orders', receipt)
        else machine.clock.advance(30_000)
      }
      assert.equal(await mailbox.lease('orders'), undefined)
      assert.deepEqual(mailbox.facts(), { live: 0, dead: 1, leased: 0 })
      assert.deepEqual(
        mailbox.dead('orders', { limit: 10 }).map(({ message: { id }, attempts }) => [id, attempts]),
        [['a', 10]],
      )
      assert.equal(await mailbox.replay('orders', ['b']), 0)
      assert.equal(await mailbox.replay('orders', undefined), 1)
      const { message: again, receipt } = await leased(mailbox)
      assert.equal(`${again.id} ${receipt.attempt}`, 'a 1')
      await mailbox.ack('orders', receipt)
      assert.deepEqual(mailbox.facts(), { live: 0, dead: 0, leased: 0 })
      assert.equal(machine.metrics.value('mailbox_dead_total'), 1)
      assert.equal(machine.metrics.value('mailbox_replayed_total'), 1)
    },
  },
  {
    name: 'messages of one key come one after the other, in order; other keys do not wait',
    run: async ({ mailbox }) => {
      for (const [id, key] of [
        ['a1', 'a'],
        ['b1', 'b'],
        ['a2', 'a'],
        ['x', undefined],
        ['a3', 'a'],
      ] as const) {
        await mailbox.send(message(id, key))
      }
      const first = await leased(mailbox)
      assert.deepEqual(
        [first, await leased(mailbox), await leased(mailbox)].map(({ message: { id } }) => id),
        ['a1', 'b1', 'x'],
      )
      assert.equal(await mailbox.lease('orders'), undefined)
      mailbox.nack('orders', first.receipt)
      const again = await leased(mailbox)
      assert.equal(again.message.id, 'a1')
      await mailbox.ack('orders', again.receipt)
      assert.equal((await leased(mailbox)).message.id, 'a2')
      assert.equal(await mailbox.lease('orders'), undefined)
    },
  },
  {
    name: 'a dead letter lets the next of its key go on, and comes back behind it',
    run: async ({ mailbox }) => {
      for (const id of ['1', '2', '3']) await mailbox.send(message(id, 'k'))
      for (let attempt = 0; attempt < 10; attempt += 1) mailbox.nack('orders', (await leased(mailbox)).receipt)
      await mailbox.replay('orders', ['1'])
      const order: string[] = []
      for (let count = 0; count < 3; count += 1) {
        const {
          message: { id },
          receipt,
        } = await leased(mailbox)
        order.push(id)
        await mailbox.ack('orders', receipt)
      }
      assert.deepEqual(order, ['2', '3', '1'])
    },
  },
  {
    name: 'whoever waits gets the message when it comes, when it is given back, or when a lease ends',
    run: async ({ mailbox, machine }) => {
      const sent = mailbox.lease('orders', { waitMs: 20_000 })
      await machine.clock.settle()
      await mailbox.send(message('a'))
      const { receipt } = (await sent) ?? assert.fail('nothing came')
      const returned = mailbox.lease('orders', { waitMs: 20_000 })
      await machine.clock.settle()
      mailbox.nack('orders', receipt)
      assert.equal((await returned)?.receipt.attempt, 2)
      const expired = mailbox.lease('orders', { waitMs: 60_000 })
      machine.clock.advance(30_000)
      assert.equal((await expired)?.receipt.attempt, 3)
    },
  },
  {
    name: 'whoever waits is told of every lease that ends, not only of the first',
    run: async ({ mailbox, machine }) => {
      await mailbox.send(message('a'))
      await leased(mailbox)
      for (const attempt of [2, 3, 4]) {
        const waiting = mailbox.lease('orders', { waitMs: 40_000 })
        await sleepThrough(machine, 30_000)
        await sleepThrough(machine, 10_000)
        assert.equal((await waiting)?.receipt.attempt, attempt)
      }
    },
  },
  {
    name: 'a wait ends with nothing at its time, and with an error when it is canceled; it takes nothing along',
    run: async ({ mailbox, machine }) => {
      const waited = mailbox.lease('orders', { waitMs: 1000 })
      machine.clock.advance(1000)
      assert.equal(await waited, undefined)
      const stop = new AbortController()
      const canceled = mailbox.lease('orders', { waitMs: 1000, signal: stop.signal })
      await machine.clock.settle()
      stop.abort()
      await assert.rejects(canceled, (error) => isKind(error, 'Canceled'))
      await mailbox.send(message('a'))
      assert.equal((await leased(mailbox)).receipt.attempt, 1)
    },
  },
  {
    name: 'a full mailbox takes no more, dead letters count, and room comes back with acknowledgements',
    run: async ({ mailbox }) => {
      for (let count = 0; count < OPTIONS.maxMessages; count += 1) await mailbox.send(message(`m${count}`))
      await assert.rejects(mailbox.send(message('one more')), { code: 'mailbox_full', kind: 'Backpressure' })
      await mailbox.ack('orders', (await leased(mailbox)).receipt)
      await mailbox.send(message('one more'))
      assert.equal(mailbox.reserve(1), undefined)
    },
  },
  {
    name: 'pages of a topic go on where the last one ended',
    run: async ({ mailbox }) => {
      for (const id of ['1', '2', '3']) await mailbox.send(message(id))
      await leased(mailbox)
      const first = mailbox.peek('orders', { limit: 2 })
      assert.deepEqual(shown(first), ['1 leased', '2 ready'])
      const second = mailbox.peek('orders', { limit: 2, after: first[1]?.place })
      assert.deepEqual(shown(second), ['3 ready'])
      assert.deepEqual(shown(mailbox.peek('orders', { limit: 2, after: second[0]?.place })), [])
    },
  },
  {
    name: 'a page goes on after a message that is gone since, and one that was put back comes last',
    run: async ({ mailbox }) => {
      for (const id of ['1', '2', '3']) await mailbox.send(message(id))
      const page = mailbox.peek('orders', { limit: 2 })
      const first = await leased(mailbox)
      await mailbox.ack('orders', (await leased(mailbox)).receipt)
      assert.deepEqual(shown(mailbox.peek('orders', { limit: 3, after: page[1]?.place })), ['3 ready'])
      mailbox.nack('orders', first.receipt)
      for (let attempt = 1; attempt < OPTIONS.maxDeliveries; attempt += 1)
        mailbox.nack('orders', (await leased(mailbox)).receipt)
      assert.deepEqual(shown(mailbox.dead('orders', { limit: 3 })), ['1 dead'])
      assert.equal(await mailbox.replay('orders', undefined), 1)
      assert.deepEqual(shown(mailbox.peek('orders', { limit: 3 })), ['3 ready', '1 ready'])
    },
  },
  {
    name: 'of many consumers at once each gets a message of its own',
    run: async ({ mailbox, machine }) => {
      const waiting = Array.from({ length: 8 }, async () => await mailbox.lease('orders', { waitMs: 5000 }))
      await machine.clock.settle()
      for (let count = 0; count < 5; count += 1) await mailbox.send(message(`m${count}`))
      await sleepThrough(machine, 5000)
      const got = (await Promise.all(waiting)).map((delivery) => delivery?.message.id)
      assert.deepEqual(got.filter((id) => id !== undefined).sort(), ['m0', 'm1', 'm2', 'm3', 'm4'])
    },
  },
]

async function sleepThrough(machine: MailboxMachine, ms: number): Promise<void> {
  const slept = sleep(machine.clock, ms)
  machine.clock.advance(ms)
  await slept
}
