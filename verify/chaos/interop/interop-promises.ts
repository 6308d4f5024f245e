/** What interop said, held against what is there. */
import { verifyAudit } from '@cairn/clients'
import { addressOf } from '@cairn/wire'
import { AUTHORIZED, type InteropLife, signed, TOPICS } from './interop-life.ts'
import { bodyOf } from './interop-load.ts'

export interface Held {
  readonly accepted: number
  /** Webhooks whose sender never heard, found accepted. */
  readonly ahead: number
  readonly hasLetGo: boolean
}

interface Told {
  readonly sent: Set<string>
  readonly accepted: Set<string>
  /** By topic and name, every id that was ever seen, and the highest attempt. */
  readonly seen: Map<string, Map<string, number>>
  /** By topic and name: an acknowledgement was asked for, or answered. */
  readonly asked: Set<string>
  readonly acked: Set<string>
}

function read(marks: readonly string[]): Told {
  const told: Told = { sent: new Set(), accepted: new Set(), seen: new Map(), asked: new Set(), acked: new Set() }
  for (const mark of marks) {
    const [verb, ...rest] = mark.split(' ')
    const [first = '', name = '', id = '', attempt = '0'] = rest
    const key = `${first} ${name}`
    if (verb === 'sent') told.sent.add(first)
    if (verb === 'accepted') told.accepted.add(first)
    if (verb === 'ack') told.asked.add(key)
    if (verb === 'acked') told.acked.add(key)
    if (verb === 'leased') note(told, key, id, Number(attempt))
  }
  return told
}

function note({ seen }: Told, key: string, id: string, attempt: number): void {
  const ids = seen.get(key) ?? new Map<string, number>()
  ids.set(id, Math.max(ids.get(id) ?? 0, attempt))
  seen.set(key, ids)
}

/** Throws unless everything that was said is true, and nothing exists twice. */
export async function holdToPromises(life: InteropLife, marks: readonly string[]): Promise<Held> {
  const told = read(marks)
  const here = messagesIn(life)
  let ahead = 0
  for (const topic of TOPICS) {
    for (const name of told.sent) {
      const key = `${topic} ${name}`
      const found = here.get(key) ?? []
      const isHere = found.length > 0
      if (told.accepted.has(name) && !isHere && !told.asked.has(key))
        throw new Error(`${key} was accepted and is lost.`)
      if (isHere && told.acked.has(key)) throw new Error(`${key} was acknowledged and is back.`)
      const ids = new Set([...(told.seen.get(key)?.keys() ?? []), ...found.map(({ id }) => id)])
      if (ids.size > 1 || found.length > 1) throw new Error(`${key} exists ${Math.max(ids.size, found.length)} times.`)
      for (const { id, attempts } of found) {
        const seen = told.seen.get(key)?.get(id) ?? 0
        if (attempts < seen) throw new Error(`${key} was delivered ${seen} times, and only ${attempts} are remembered.`)
      }
      if (isHere && !told.accepted.has(name)) ahead += 1
    }
  }
  await holdToBodies(life, told)
  await holdToAudit(life, told)
  return { accepted: told.accepted.size, ahead, hasLetGo: life.parts.chain.first > 1 }
}

function messagesIn(life: InteropLife): Map<string, { readonly id: string; readonly attempts: number }[]> {
  const here = new Map<string, { id: string; attempts: number }[]>()
  for (const topic of TOPICS) {
    const page = { limit: Number.MAX_SAFE_INTEGER }
    for (const { message, attempts } of [
      ...life.parts.mailbox.peek(topic, page),
      ...life.parts.mailbox.dead(topic, page),
    ]) {
      const { delivery } = JSON.parse(message.body) as { delivery: string }
      const key = `${topic} ${delivery.split('/')[0] ?? ''}`
      here.set(key, [...(here.get(key) ?? []), { id: message.id, attempts }])
    }
  }
  return here
}

/** Every body that was accepted is in storage, byte for byte. */
async function holdToBodies(life: InteropLife, { accepted }: Told): Promise<void> {
  for (const name of accepted) {
    const body = bodyOf(name)
    const answer = await life.ask('GET', `/o/${addressOf(Buffer.from(body))}`)
    if (answer.status !== 200 || JSON.stringify(answer.fields()) !== body) {
      throw new Error(`The body of ${name} was accepted and storage answers ${answer.status}.`)
    }
  }
}

/** The chain is whole, and has one line for everything that was let in, as far back as it goes. */
async function holdToAudit(life: InteropLife, { accepted }: Told): Promise<void> {
  const { chain, ledger } = life.parts
  const lines = await ledger.lines(chain.first, Number.MAX_SAFE_INTEGER)
  const verdict = verifyAudit(
    lines.map((line) => Buffer.from(line)),
    [],
  )
  if (verdict.tag === 'broken') throw new Error(`Line ${verdict.seq} of the audit ${verdict.why}.`)
  if (lines.length > 0 && verdict.count !== chain.count) throw new Error('The chain is shorter than it says.')
  const allowed = new Map<string, number>()
  for (const line of lines) {
    const { decision, reason, b3 } = JSON.parse(line) as { decision: string; reason: string; b3: string }
    if (decision === 'allow' && reason === '') allowed.set(b3, (allowed.get(b3) ?? 0) + 1)
  }
  for (const name of accepted) {
    const count = allowed.get(addressOf(Buffer.from(bodyOf(name)))) ?? 0
    if (count > 1) throw new Error(`${name} was let in ${count} times.`)
    if (count === 0 && chain.first === 1) throw new Error(`${name} was let in, and the audit does not say so.`)
  }
}

/** Everything that was sent is sent again: what was accepted is a duplicate, and nothing exists twice afterwards. */
export async function holdToResend(life: InteropLife, marks: readonly string[]): Promise<void> {
  const told = read(marks)
  const before = messagesIn(life)
  for (const name of told.sent) {
    const body = bodyOf(name)
    const answer = await life.ask('POST', '/webhooks/github', body, signed(body, `${name}/again`))
    if (answer.status !== 202) throw new Error(`${name} was sent again and answered ${answer.status}.`)
    const isDuplicate = answer.fields()['duplicate'] === true
    const wasHere = TOPICS.some((topic) => before.has(`${topic} ${name}`) || told.asked.has(`${topic} ${name}`))
    if (told.accepted.has(name) && !isDuplicate) throw new Error(`${name} was accepted twice.`)
    if (wasHere !== isDuplicate) throw new Error(`${name}: a message and its replay key do not agree.`)
  }
  for (const [key, messages] of messagesIn(life)) {
    if (messages.length > 1) throw new Error(`${key} exists ${messages.length} times after it was sent again.`)
  }
  const lease = await life.ask('POST', '/mailbox/builds/lease', undefined, AUTHORIZED)
  if (lease.status !== 200 && lease.status !== 204) throw new Error(`A lease is answered ${lease.status}.`)
}
