/** What people do with a registry, all at once: propose, approve, commit, anchor and read, over a few names they share. */
import { type Random } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Item, itemHash, type LiveItem } from '@cairn/names'
import { parseCheckpoint, parseNote } from '@cairn/tlog'
import { addressOf } from '@cairn/wire'
import type { Answer, RegistryLife } from './registry-life.ts'
import type { MarkSink } from './registry-marks.ts'
import { signatureOf, TEST_SIGNERS } from './registry-signers.ts'

export interface Load {
  readonly life: RegistryLife
  readonly mark: MarkSink
  readonly random: Random
  readonly clients: number
  readonly stepsEach: number
  /** Between two steps of a client. */
  readonly pause: (ms: number) => Promise<void>
}

const NAMES = 4
const PAUSE_MS_MAX = 4
/** A registry whose drive fails, or that is stopping, may say no; whether it did what was asked is then unknown. */
const UNSURE = 500

/** Resolves when every client has done its steps. Throws if an answer is none that a registry may give. */
export async function runLoad(load: Load): Promise<void> {
  await Promise.all(Array.from({ length: load.clients }, async (_, at) => await new Client(load, at).run()))
}

/** Reads HEAD and the checkpoint, and says so. */
export async function lookAt(life: RegistryLife, mark: MarkSink): Promise<void> {
  const head = await life.ask('GET', '/registry/head')
  const { version, hash } = head.json() as Head
  mark({ tag: 'head', version, hash })
  const { text } = parseNote((await life.ask('GET', '/log/checkpoint')).body)
  const { size, root } = parseCheckpoint(text)
  mark({ tag: 'checkpoint', size, root: Buffer.from(root).toString('base64') })
}

interface Opened {
  readonly proposal: string
  readonly signingInput: string
  approvals: number
}

class Client {
  readonly #load: Load
  readonly #random: Random
  readonly #name: string
  #open: Opened | undefined
  #count = 0

  constructor(load: Load, at: number) {
    this.#load = load
    this.#random = new SeededRandom(Math.floor(load.random.next() * 2 ** 32))
    this.#name = `client-${at}`
  }

  async run(): Promise<void> {
    for (let step = 0; step < this.#load.stepsEach; step += 1) {
      await this.#step()
      await this.#load.pause(this.#random.next() * PAUSE_MS_MAX)
    }
  }

  async #step(): Promise<void> {
    const draw = this.#random.next()
    if (draw < 0.08) await this.#anchor()
    else if (draw < 0.18) await this.#look()
    else if (this.#open === undefined) await this.#propose()
    else if (this.#open.approvals < 2) await this.#approve(this.#open)
    else {
      const open = this.#open
      this.#open = undefined
      await this.#commit(open)
      // Now and then asked again, by somebody who did not hear.
      if (this.#random.next() < 0.2) await this.#commit(open)
    }
  }

  async #propose(): Promise<void> {
    const id = `name-${Math.floor(this.#random.next() * NAMES)}@1`
    const known = await this.#load.life.ask('GET', `/registry/names/${id}`)
    const prev = known.status === 200 ? itemHash((known.json() as { item: LiveItem }).item) : null
    this.#count += 1
    const manifest = addressOf(new TextEncoder().encode(`${this.#name} ${this.#count} ${this.#random.next()}`))
    const item: Item = { kind: 'name', id, manifest, prev }
    const answer = await this.#ask('/registry/proposals', { payload: { items: [item] } })
    if (answer.status !== 202) return
    const { proposal_id: proposal, signing_input: signingInput, log_index: index } = answer.json() as Proposed
    this.#load.mark({ tag: 'proposed', proposal, index })
    this.#open = { proposal, signingInput, approvals: 0 }
  }

  async #approve(open: Opened): Promise<void> {
    const testSigner = TEST_SIGNERS[open.approvals]
    if (testSigner === undefined) return
    const { id } = testSigner.signer
    const body = { signer_id: id, sig: signatureOf(testSigner, open.signingInput) }
    const answer = await this.#ask(`/registry/approvals/${open.proposal}`, body)
    // Counted before, and whoever asked did not hear.
    if (answer.code === 'DuplicateApproval') open.approvals += 1
    if (answer.status !== 200) return
    open.approvals += 1
    this.#load.mark({
      tag: 'approved',
      proposal: open.proposal,
      signer: id,
      index: (answer.json() as Indexed).log_index,
    })
  }

  async #commit({ proposal }: Opened): Promise<void> {
    this.#load.mark({ tag: 'asked', proposal })
    const answer = await this.#ask(`/registry/commit/${proposal}`)
    if (answer.status === 201) {
      const { version, hash } = answer.json() as Head
      this.#load.mark({ tag: 'committed', proposal, version, hash })
    } else if (answer.code === 'ChainMismatch') this.#load.mark({ tag: 'refused', proposal })
  }

  async #anchor(): Promise<void> {
    this.#count += 1
    const count = this.#count
    const body = { head: addressOf(new TextEncoder().encode(`${this.#name} ${count}`)), count }
    const answer = await this.#ask('/log/audit-heads', body)
    if (answer.status === 202) this.#load.mark({ tag: 'noted', index: (answer.json() as Indexed).log_index, count })
  }

  async #look(): Promise<void> {
    await lookAt(this.#load.life, this.#load.mark)
  }

  async #ask(target: string, body?: object): Promise<Answer> {
    const answer = await this.#load.life.ask('POST', target, body)
    const isExpected = answer.status < 300 || answer.status === 409 || answer.status >= UNSURE || answer.status === 429
    if (!isExpected) throw new Error(`${target} is answered ${answer.status} ${answer.body.toString()}`)
    return answer
  }
}

interface Proposed {
  readonly proposal_id: string
  readonly signing_input: string
  readonly log_index: number
}

interface Indexed {
  readonly log_index: number
}

interface Head {
  readonly version: number
  readonly hash: string
}
