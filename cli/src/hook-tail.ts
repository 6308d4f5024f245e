/** `cairn hook tail`: webhooks as they are accepted or refused. */
import type { ReceivedEvent } from '@cairn/clients'
import { Deadline, SystemClock } from '@cairn/kernel'
import type { Run } from './command.ts'
import { fieldsOf, textOf } from './hook-config.ts'
import { withInterop } from './interop-service.ts'
import { untilInterrupted } from './interrupt.ts'
import { limitOf } from './mailbox.ts'
import { visible } from './visible.ts'

/** As good as for ever; each connection lives an hour at most. */
const FOLLOW_MS = 365 * 24 * 60 * 60 * 1000

export const tail: Run = async (context) => {
  const { given, terminal, print } = context
  const limit = limitOf(given.text('limit'), Number.POSITIVE_INFINITY)
  const isQuiet = given.has('quiet') || given.has('json')
  const onOpen = (): void => {
    if (!isQuiet) terminal.say('… following; an interrupt ends it\n')
  }
  return await withInterop(
    context,
    async ({ client }) =>
      await untilInterrupted(async (signal) => {
        const deadline = Deadline.after(new SystemClock(), FOLLOW_MS)
        let left = limit
        for await (const event of client.events({ deadline, signal }, onOpen)) {
          const happened = happeningOf(event)
          if (happened === undefined) continue
          if (given.has('json')) print({ result: { event: event.event, ...happened.facts } })
          else terminal.write(`${visible(happened.text)}\n`)
          left -= 1
          if (left <= 0) break
        }
        return 0
      }),
  )
}

interface Happening {
  readonly text: string
  readonly facts: Readonly<Record<string, unknown>>
}

/** What an event says to somebody who watches webhooks; nothing if it is about something else. */
function happeningOf({ event, data }: ReceivedEvent): Happening | undefined {
  const facts = fieldsOf(JSON.parse(data))
  const say = (...words: readonly unknown[]): Happening => ({ text: words.map(word).join('  '), facts })
  switch (event) {
    case 'interop.webhook.accepted':
      return say('accepted', facts['provider'], facts['event'], facts['delivery'], facts['address'], facts['message'])
    case 'audit.event': {
      // What was accepted has been said, by the event above.
      const isSaid = facts['decision'] === 'allow' && facts['reason'] === ''
      if (isSaid || facts['action'] !== 'webhook') return undefined
      const verdict = facts['decision'] === 'deny' ? 'refused' : 'accepted'
      return say(verdict, facts['provider'], facts['reason'], facts['b3'], facts['corr_id'])
    }
    case 'interop.brownout': {
      const reasons = facts['reasons']
      return say('brownout', facts['active'] === true ? 'on' : 'off', Array.isArray(reasons) ? reasons.join(', ') : '')
    }
    case 'gap':
      return say('gap', 'events were missed; `cairn audit` has every line')
    default:
      return undefined
  }
}

function word(value: unknown): string {
  return textOf(value) || '-'
}
