/** Signers with their keys, and what they do: a story in a few words. */
import assert from 'node:assert/strict'
import type { Item, Signer } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { type Address, addressOf, toBase64url } from '@cairn/wire'
import { type Answer } from '../../../verify/virtual/answer.ts'
import { type Asking } from '../../../verify/virtual/virtual-service.ts'
import type { VersionSummary } from '../src/domain/ledger.ts'
import type { ServiceOptions, TestService } from './harness.ts'

export interface TestSigner extends Signer {
  readonly seed: Uint8Array
}

export function signer(id: string, fill: number, algo: Signer['algo'] = 'ed25519'): TestSigner {
  const seed = new Uint8Array(32).fill(fill)
  const key = algo === 'ed25519' ? systemCrypto.ed25519PublicKey(seed) : systemCrypto.mlDsa44PublicKey(seed)
  return { id, algo, key: toBase64url(key), seed }
}

export const ALICE = signer('org:example#alice', 1)
export const BOB = signer('org:example#bob', 2)
export const CAROL = signer('org:other#carol', 3, 'ml-dsa-44')
export const MALLORY = signer('mallory', 66)

export function publicHalf({ id, algo, key }: TestSigner): Signer {
  return { id, algo, key }
}

const ROOTS_PATH = 'roots.json'

/** A registry that begins with these signers, m of them needed. */
export function rootsOf(m: number, signers: readonly TestSigner[]): ServiceOptions {
  const bytes = Buffer.from(JSON.stringify({ m, signers: signers.map(publicHalf) }))
  const bootstrap = { trust_roots_path: ROOTS_PATH, trust_roots_hash: addressOf(bytes) }
  return { config: { bootstrap }, files: { [ROOTS_PATH]: bytes } }
}

export function address(text: string): Address {
  return addressOf(Buffer.from(text))
}

/** The item that gives a name its first meaning. */
export function named(name: string, meaning: string, prev: Address | null = null): Item {
  return { kind: 'name', id: name, manifest: address(meaning), prev }
}

export interface Opened {
  readonly proposal_id: string
  readonly payload_b3: Address
  readonly signing_input: string
  readonly expires_at: number
  readonly log_index: number
  readonly quorum: { readonly m: number; readonly n: number; readonly missing: readonly string[] }
}

type Send = (method: string, target: string, asking?: Asking) => Promise<Answer>

export function sign(input: string, { algo, seed }: TestSigner): string {
  const bytes = Buffer.from(input)
  return toBase64url(
    algo === 'ed25519' ? systemCrypto.ed25519Signer(seed)(bytes) : systemCrypto.mlDsa44Signer(seed)(bytes),
  )
}

/** What people do with a registry, through `ask` (time passes) or `send` (somebody else lets it). */
export class QuorumClient {
  readonly #send: Send

  constructor(service: TestService, mode: 'ask' | 'send' = 'ask') {
    this.#send = async (method, target, asking) => await service[mode](method, target, asking)
  }

  async propose(items: readonly Item[], more: object = {}): Promise<Opened> {
    const answer = await this.#send('POST', '/registry/proposals', { body: { payload: { items }, ...more } })
    assert.equal(answer.status, 202, answer.body.toString())
    return answer.json() as Opened
  }

  async approve({ proposal_id: id, signing_input: input }: Opened, by: TestSigner): Promise<Answer> {
    const body = { signer_id: by.id, sig: sign(input, by) }
    return await this.#send('POST', `/registry/approvals/${id}`, { body })
  }

  async commit({ proposal_id: id }: Pick<Opened, 'proposal_id'>): Promise<Answer> {
    return await this.#send('POST', `/registry/commit/${id}`)
  }

  /** All of it: the version these items became. */
  async publish(items: readonly Item[], by: readonly TestSigner[], more: object = {}): Promise<VersionSummary> {
    const opened = await this.propose(items, more)
    for (const each of by) assert.equal((await this.approve(opened, each)).status, 200)
    const committed = await this.commit(opened)
    assert.equal(committed.status, 201, committed.body.toString())
    return committed.json() as VersionSummary
  }
}
