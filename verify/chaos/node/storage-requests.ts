/** What a client of storage asks, each held to the ledger: an answer that the ledger does not allow is a fault. */
import type { Ledger } from '../ledger.ts'
import type { Answer, HttpClient } from './http-client.ts'
import type { Thing } from './storage-things.ts'
import type { UnderWay } from './under-way.ts'

/** Asked for and not done, for a reason that a working node may give; says nothing about what is there. */
const REFUSED = /^(429 busy|503 \w+|409 missing_chunks)$/
/** What one may say besides whose drive is full. */
const FULL = /^507 (?:no_space|not_ready)$/
const OWNER = 'chaos'

export type PutWay = 'put' | 'stream' | 'upload'

export class StorageRequests {
  readonly #ledger: Ledger
  readonly #http: HttpClient
  readonly #underWay: UnderWay
  /** What the node would not do, and why not. */
  readonly refusals: string[] = []

  readonly #mayBeFull: boolean

  constructor(ledger: Ledger, http: HttpClient, underWay: UnderWay, { mayBeFull = false } = {}) {
    this.#mayBeFull = mayBeFull
    this.#ledger = ledger
    this.#http = http
    this.#underWay = underWay
  }

  async put(thing: Thing, way: PutWay): Promise<void> {
    this.#ledger.begin(thing.name, 'present')
    const answer = await this.#underWay.during(way, async () => await this.#send(thing, way))
    if (answer.status === 200 || answer.status === 201) this.#ledger.acknowledge(thing.name, 'present')
    else this.#refused(way, answer)
  }

  async remove({ name, id }: Thing): Promise<void> {
    const before = new Set(this.#ledger.allowed(name))
    this.#ledger.begin(name, 'absent')
    const answer = await this.#underWay.during('delete', async () => await this.#http.ask('DELETE', `/o/${id}`))
    if (answer.status === 204) {
      if (!before.has('present')) throw new Error(`${name} was removed and had not been there.`)
      this.#ledger.found(holdOf(name), 'absent')
      this.#ledger.acknowledge(name, 'absent')
    } else if (answer.status === 404) {
      if (!before.has('absent')) throw new Error(`${name} was to be removed and is lost.`)
      this.#ledger.acknowledge(name, 'absent')
    } else if (answer.code === 'referenced') {
      if (!before.has('present')) throw new Error(`${name} is held and may only be absent.`)
      this.#ledger.found(holdOf(name), 'present')
      this.#ledger.acknowledge(name, 'present')
    } else this.#refused('delete', answer)
  }

  async hold({ name, id }: Thing): Promise<void> {
    const hold = holdOf(name)
    this.#ledger.begin(hold, 'present')
    const answer = await this.#underWay.during('hold', async () => await this.#http.ask('PUT', `/refs/${OWNER}/${id}`))
    if (answer.status === 204) {
      this.#ledger.found(name, 'present')
      this.#ledger.acknowledge(hold, 'present')
    } else if (answer.status === 404) {
      this.#ledger.found(name, 'absent')
      this.#ledger.acknowledge(hold, 'absent')
    } else this.#refused('hold', answer)
  }

  async release({ name, id }: Thing): Promise<void> {
    const hold = holdOf(name)
    this.#ledger.begin(hold, 'absent')
    const ask = async (): Promise<Answer> => await this.#http.ask('DELETE', `/refs/${OWNER}/${id}`)
    const answer = await this.#underWay.during('release', ask)
    if (answer.status === 204) this.#ledger.acknowledge(hold, 'absent')
    else this.#refused('release', answer)
  }

  /** Reads the object, every byte of it; false if the node would not say. */
  async read({ name, id, bytes }: Thing): Promise<boolean> {
    const answer = await this.#underWay.during('read', async () => await this.#http.ask('GET', `/o/${id}`))
    if (answer.status === 200) {
      if (!answer.body.equals(bytes)) throw new Error(`${name} has other bytes.`)
      this.#ledger.found(name, 'present')
    } else if (answer.status === 404) this.#ledger.found(name, 'absent')
    else this.#refused('read', answer)
    return answer.status === 200 || answer.status === 404
  }

  /** What is held for certain is still held: to remove it is refused. */
  async checkHold(thing: Thing): Promise<void> {
    const allowed = this.#ledger.allowed(holdOf(thing.name))
    if (allowed.has('absent')) return
    const { status, code } = await this.#http.ask('DELETE', `/o/${thing.id}`)
    if (code !== 'referenced') throw new Error(`${thing.name} is held, and to remove it is answered ${status} ${code}.`)
  }

  #refused(what: string, { status, code, body }: Answer): void {
    const isFull = this.#mayBeFull && FULL.test(`${status} ${code}`)
    if (!isFull && !REFUSED.test(`${status} ${code}`))
      throw new Error(`${what} is answered ${status} ${code}: ${body.toString()}`)
    this.refusals.push(`${what} ${status} ${code}`)
  }

  async #send({ id, bytes, chunks, manifest }: Thing, way: PutWay): Promise<Answer> {
    if (way === 'put') return await this.#http.ask('PUT', `/o/${id}`, { body: bytes })
    if (way === 'stream' || manifest === undefined)
      return await this.#http.ask('PUT', `/o/${id}?stream`, { body: bytes, isStreamed: true })
    const upload = `upload=${id.slice(3, 19)}`
    const asked = await this.#http.ask('POST', `/c/missing?${upload}`, {
      json: { ids: chunks.map((chunk) => chunk.id) },
    })
    if (asked.status !== 200) return asked
    const missing = new Set(asked.json()['missing'] as string[])
    const [first, ...rest] = chunks.filter((chunk) => missing.has(chunk.id))
    if (first !== undefined) {
      const sent = await this.#http.ask('PUT', `/c/${first.id}?${upload}`, { body: first.bytes })
      if (sent.status > 201) return sent
    }
    if (rest.length > 0) {
      const sent = await this.#http.ask('POST', `/c?${upload}`, { body: frames(rest), isStreamed: true })
      if (sent.status !== 200) return sent
    }
    return await this.#http.ask('PUT', `/m/${id}?${upload}`, { body: manifest, isStreamed: true })
  }
}

/** The ledger's name for a hold on the object of this name. */
function holdOf(name: string): string {
  return `hold on ${name}`
}

function frames(chunks: readonly { readonly bytes: Uint8Array }[]): Buffer {
  return Buffer.concat(
    chunks.flatMap(({ bytes }) => {
      const head = Buffer.alloc(4)
      head.writeUInt32BE(bytes.length)
      return [head, bytes]
    }),
  )
}
