/** Proposes, approves and commits names, and asks what they mean. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '@cairn/kernel'
import { parseSignerKey } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { type Address, addressOf, toBase64url } from '@cairn/wire'
import { type Actor, askPatiently, atOnce, isAnswered, pick, type Scene } from './actor.ts'

const WORKERS = 3

export interface Committed {
  readonly name: string
  readonly address: Address
  readonly version: number
}

interface Opened {
  readonly proposal_id: string
  readonly signing_input: string
}

export class RegistryActor implements Actor {
  readonly committed: Committed[] = []
  readonly #scene: Scene
  readonly #key: ReturnType<typeof parseSignerKey>
  #serial = 0

  constructor(scene: Scene) {
    this.#scene = scene
    this.#key = parseSignerKey(readFileSync(join(scene.data, 'registry/signer.key')))
  }

  async run(): Promise<void> {
    await atOnce(this.#scene, 'registry', WORKERS, async (_worker, random) => {
      if (random.next() < 0.4) await this.#commit()
      else await this.#read(random)
    })
  }

  async check(): Promise<string> {
    const client = this.#scene.client('registry')
    for (const { name, address, version } of this.committed) {
      const answer = await askPatiently(client, `/registry/names/${name}`)
      const told = answer.json() as { version?: number; item?: { manifest?: string } }
      if (answer.status !== 200 || told.item?.manifest !== address || told.version !== version)
        throw new Error(
          `${name} was committed as version ${version}, and now: ${answer.status} ${answer.body.toString()}`,
        )
    }
    return `registry: ${this.committed.length} names mean what was committed, in the version it was`
  }

  async #commit(): Promise<void> {
    this.#serial += 1
    const name = `day-${this.#serial}@1`
    const address = addressOf(Buffer.from(name))
    const items = [{ kind: 'name', id: name, prev: null, manifest: address }]
    const client = this.#scene.client('registry')
    const opened = await client.ask('POST', '/registry/proposals', { json: { payload: { items } } })
    if (!isAnswered(this.#scene, 'registry', 'propose', opened, [202])) return
    const { proposal_id: id, signing_input: input } = opened.json() as Partial<Opened> as Opened
    const sig = toBase64url(systemCrypto.ed25519Signer(this.#key.seed)(new TextEncoder().encode(input)))
    const approval = { signer_id: this.#key.signer.id, sig }
    const approved = await client.ask('POST', `/registry/approvals/${id}`, { json: approval })
    if (!isAnswered(this.#scene, 'registry', 'approve', approved, [200])) return
    const done = await client.ask('POST', `/registry/commit/${id}`)
    if (!isAnswered(this.#scene, 'registry', 'commit', done, [201])) return
    this.committed.push({ name, address, version: Number(done.json()['version']) })
  }

  async #read(random: Random): Promise<void> {
    const known = pick(this.committed, random)
    if (known === undefined) return
    const answer = await this.#scene.client('registry').ask('GET', `/registry/names/${known.name}`)
    if (!isAnswered(this.#scene, 'registry', 'read', answer, [200])) {
      if (answer.status === 404) throw new Error(`${known.name} was committed and is lost.`)
      return
    }
    if (!answer.body.includes(known.address)) throw new Error(`${known.name} means something else.`)
  }
}
