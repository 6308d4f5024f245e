/** A payload too large for a log entry lies in storage, held there before the log says anything of it. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StorageClient } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { decodeLeaf, parseProof, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { type Address, addressOf, canonicalJson } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { ALICE, named, QuorumClient, rootsOf } from './signers.ts'

const ITEMS = Array.from({ length: 900 }, (_, at) => named(`large-${at}@1`, `${at}`))
const PAYLOAD = { items: ITEMS }

/** What the registry asks of storage, in the order it does. */
class Shelf implements Pick<StorageClient, 'put' | 'hold' | 'holdTree'> {
  readonly asked: string[] = []
  readonly objects = new Map<Address, Uint8Array>()
  isDown = false

  readonly put: StorageClient['put'] = async (bytes) => {
    this.#mustBeUp()
    const address = addressOf(bytes)
    this.asked.push('put')
    this.objects.set(address, bytes.slice())
    return await Promise.resolve({ address, size: bytes.length } as Awaited<ReturnType<StorageClient['put']>>)
  }

  readonly hold: StorageClient['hold'] = async (owner, address) => {
    this.#mustBeUp()
    this.asked.push(`hold ${owner} ${this.objects.has(address)}`)
    await Promise.resolve()
  }

  /** What the names of the payload mean; another test is about that. */
  readonly holdTree: StorageClient['holdTree'] = async () => {
    this.#mustBeUp()
    return await Promise.resolve({ objects: 1, changed: 1, missing: 0, missingAddresses: [] })
  }

  #mustBeUp(): void {
    if (this.isDown) throw new CairnError('StorageBusy', 'Storage is away.', { code: 'unreachable' })
  }
}

function withShelf(shelf: Shelf): ServiceOptions {
  return { ...rootsOf(1, [ALICE]), storage: shelf as Partial<StorageClient> as StorageClient }
}

test('it is stored and held first; the entry names it; it is committed, proved and there again after a restart', async () => {
  assert.ok(canonicalJson(PAYLOAD).length > 65_535)
  const shelf = new Shelf()
  const service = await TestService.start(withShelf(shelf))
  const opened = await new QuorumClient(service).propose(ITEMS)
  assert.deepEqual(shelf.asked, ['put', 'hold registry true'])
  assert.deepEqual(Buffer.from(shelf.objects.get(opened.payload_b3)!), Buffer.from(canonicalJson(PAYLOAD)))
  const leaf = decodeLeaf(await service.world.run(service.parts.archive.entry(opened.log_index)))
  assert.ok(leaf.type === 'proposal' && leaf.payload === undefined && leaf.proposal.payload_b3 === opened.payload_b3)
  // Nobody has committed it when the registry starts again: the payload is still known.
  const again = await service.restart(withShelf(shelf))
  const quorum = new QuorumClient(again)
  await quorum.approve(opened, ALICE)
  assert.equal((await quorum.commit(opened)).fields()['version'], 1)
  const third = await again.restart(withShelf(new Shelf()))
  assert.equal((await third.ask('GET', '/registry/names/large-899@1')).fields()['version'], 1)
  const { identity, keys } = third.parts.signer
  for (const path of ['/registry/proof/1', '/registry/proof/name/large-5@1']) {
    const proof = parseProof((await third.ask('GET', path)).body)
    const verdict = verifyProof(proof, { ...identity, logKeys: keys }, systemCrypto, {
      now: third.platform.clock.wall(),
    })
    assert.equal(verdict.kind, 'verified', path)
  }
  await third.sleep(5_000)
  assert.equal(third.parts.verifier.report().bad, null)
  await third.stop()
})

test('storage that is away refuses the proposal, and the log says nothing of it', async () => {
  const shelf = new Shelf()
  shelf.isDown = true
  const service = await TestService.start(withShelf(shelf))
  const { size } = service.parts.published.value
  const answer = await service.ask('POST', '/registry/proposals', { body: { payload: PAYLOAD } })
  assert.equal(answer.status, 503)
  assert.equal(service.parts.published.value.size, size)
  isProblem(await service.ask('GET', '/registry/1'), 404, 'NotFound')
  await service.stop()
})
