/**
 * A consumer in a process of its own: takes every message there is, and keeps the ledger.
 * It is told where interop is on its standard input, again after every restart of it, and writes a line for each message:
 *
 *     leased TOPIC NAME ID ATTEMPT        acked TOPIC NAME ID
 */
import { writeSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import { AUTHORIZED, TOPICS } from './interop-life.ts'

const headers = { [AUTHORIZED[0] ?? '']: AUTHORIZED[1] ?? '' }
const state = { url: '' }

createInterface({ input: process.stdin }).on('line', (line) => {
  state.url = line
})

interface Leased {
  readonly message: { readonly body: { readonly delivery: string } }
  readonly receipt: { readonly id: string; readonly attempt: number }
}

async function consume(topic: string): Promise<void> {
  for (;;) {
    const { url } = state
    try {
      if (url === '') throw new Error('nobody is there yet')
      const answer = await fetch(`${url}mailbox/${topic}/lease?wait=1`, { method: 'POST', headers })
      if (answer.status !== 200) {
        await answer.body?.cancel()
        continue
      }
      const { message, receipt } = (await answer.json()) as Leased
      const name = message.body.delivery.split('/')[0] ?? ''
      writeSync(1, `leased ${topic} ${name} ${receipt.id} ${receipt.attempt}\n`)
      const done = await fetch(`${url}mailbox/${topic}/${receipt.id}/ack`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify(receipt),
      })
      await done.body?.cancel()
      if (done.status === 204) writeSync(1, `acked ${topic} ${name} ${receipt.id}\n`)
    } catch {
      // It was killed; the next life says where it is.
      await wait(10)
    }
  }
}

await Promise.all(TOPICS.flatMap((topic) => [consume(topic), consume(topic)]))
