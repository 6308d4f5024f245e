/** The client that services and commands use, against the real registry; it is here because this is where that can be run. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type CallContext, Caller, type RegistryClient, registryClient } from '@cairn/clients'
import { capabilityAuthorizer, INGRESS_METRICS, type RunningService, type ServiceConfig } from '@cairn/http'
import {
  Breakers,
  Config,
  Deadline,
  KERNEL_METRICS,
  MemoryLog,
  MemoryMetrics,
  type Runtime,
  systemRuntime,
} from '@cairn/kernel'
import { leaks } from '@cairn/kernel/testing'
import {
  artifactHash,
  decodeLeaf,
  itemHash,
  type NameItem,
  parseProof,
  parseSignerKey,
  payloadHash,
  type SignerKey,
  signingInput,
  verifyProof,
} from '@cairn/names'
import { SERVICES } from '@cairn/node'
import {
  createPlatform,
  openWorkers,
  type Platform,
  readSmallFile,
  systemCrypto,
  UndiciTransport,
} from '@cairn/platform'
import { HASH_BYTES, leafHash, parseCheckpoint, parseNote } from '@cairn/tlog'
import type { Transport } from '@cairn/transport'
import { InProcessTransport } from '@cairn/transport'
import { addressOf, createKeyring, deriveKeyring, equalBytes, mintToken, type Scope, toBase64url } from '@cairn/wire'
import { signWith } from '../src/key.ts'

const REGISTRY = SERVICES.find(({ name }) => name === 'registry')!
const RING = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(7)), 'registry')
const SCOPES: readonly Scope[] = ['registry:propose', 'registry:approve', 'registry:commit', 'registry:anchor']
const MEMORY_BYTES = 2 ** 30
const manifest = (text: string) => addressOf(new TextEncoder().encode(text))

for (const way of ['over TCP', 'in process'] as const) {
  describe(way, () => {
    let runtime: Runtime
    let running: RunningService<ServiceConfig>
    let client: RegistryClient
    let key: SignerKey
    const closing: (() => Promise<void>)[] = []

    before(async () => {
      runtime = systemRuntime(
        new MemoryLog(),
        new MemoryMetrics({ ...KERNEL_METRICS, ...INGRESS_METRICS, ...REGISTRY.metrics }),
      )
      const transport = new UndiciTransport(runtime)
      const workers = openWorkers(runtime)
      const shared = { workers, transport, lookup: { addresses: async () => [] }, memoryBytes: MEMORY_BYTES }
      const platform = createPlatform(runtime, shared)
      const started = await REGISTRY.start(hostOf(platform))
      running = started.running
      key = parseSignerKey((await readSmallFile(platform.disk, '/registry/signer.key'))!)
      const breakers = new Breakers(runtime)
      const own: Transport = way === 'in process' ? new InProcessTransport(running.ingress) : transport
      const bearer = async () => mintToken(RING, { tid: new Uint8Array(16), aud: 'registry', scopes: SCOPES })
      const base = new URL(way === 'in process' ? 'http://localhost/' : running.urls[0]!)
      const grant = { scopes: SCOPES, bearer }
      client = registryClient(new Caller({ runtime, transport: own, base, target: 'registry', breakers, grant }))
      closing.push(
        async () => breakers.close(),
        async () => await own.close(),
        async () => void (await running.stop()),
        async () => await transport.close(),
        async () => await workers.close(),
      )
    })
    after(async () => {
      for (const close of closing) await close()
      assert.deepEqual(leaks(runtime), [])
    })

    const soon = (): CallContext => ({ deadline: Deadline.after(runtime.clock, 20_000) })

    async function setName(id: string, meaning: string) {
      const current = await client.name(id, undefined, soon())
      const prev = current === undefined ? null : itemHash(current.item)
      const item: NameItem = { kind: 'name', id, prev, manifest: manifest(meaning) }
      const proposed = await client.propose({ items: [item] }, undefined, soon())
      const open = await client.proposal(proposed.proposal_id, soon())
      assert.ok(open.status === 'open')
      assert.equal(payloadHash(open.payload), open.proposal.payload_b3)
      const { origin } = await client.head(soon())
      const log = { origin, genesis: artifactHash(await client.version(0, soon())) }
      const input = signingInput(log, open.proposal)
      assert.equal(new TextDecoder().decode(input), proposed.signing_input)
      assert.deepEqual([open.quorum.missing, open.quorum.isMet], [[key.signer.id], false])
      const listed = await client.proposals(undefined, soon())
      assert.ok(listed.proposals.some(({ proposal }) => proposal.proposal_id === proposed.proposal_id))
      const approval = { signer_id: key.signer.id, sig: toBase64url(signWith(key, input)) }
      const quorum = await client.approve(proposed.proposal_id, approval, soon())
      assert.ok(quorum.isMet)
      const facts = await client.commit(proposed.proposal_id, soon())
      assert.deepEqual(await client.commit(proposed.proposal_id, soon()), facts)
      assert.deepEqual(await client.proposal(proposed.proposal_id, soon()), { status: 'committed', facts })
      return facts
    }

    test('a name is proposed, approved, committed, read and proved', async () => {
      const facts = await setName('site@1.0', 'a')
      const head = await client.head(soon())
      assert.deepEqual([head.version, head.hash, head.minimum_index], [facts.version, facts.hash, 0])
      assert.equal(artifactHash(await client.version(facts.version, soon())), facts.hash)
      const named = await client.name('site@1.0', undefined, soon())
      assert.deepEqual([named?.item.manifest, named?.version], [manifest('a'), facts.version])
      assert.equal(await client.name('site@1.0', 0, soon()), undefined)
      const trust = await client.trust(soon())
      const subjects = [{ name: 'site@1.0' }, { name: 'nothing@1' }, { version: facts.version }]
      for (const subject of subjects) {
        const proof = parseProof(await client.proof(subject, 1, soon()))
        const options = { now: runtime.clock.wall(), maxCheckpointAgeMs: 60_000 }
        assert.equal(verifyProof(proof, trust, systemCrypto, options).kind, 'verified')
        assert.equal(proof.consistency?.from, 1)
      }
    })

    test('the log is what its tiles say', async () => {
      assert.equal(await client.auditHead({ head: manifest('audit'), count: 7 }, soon()), 4)
      const { size } = parseCheckpoint(parseNote(await client.checkpoint(soon())).text)
      const hashes = await client.tile({ level: 0, index: 0, width: size }, soon())
      const entries = await client.entries(0, size, soon())
      assert.equal(entries.length, size)
      for (const [at, entry] of entries.entries())
        assert.ok(equalBytes(leafHash(entry), hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)))
      assert.equal(decodeLeaf(entries.at(-1)!).type, 'audit_head')
      await assert.rejects(client.tile({ level: 0, index: 0, width: size + 1 }, soon()), { kind: 'NotFound' })
    })

    test('the stream tells every version from where one was, as it comes', async () => {
      const { version } = await client.head(soon())
      const events = client.stream(0, soon())
      const heard: number[] = []
      const read = (async () => {
        for await (const event of events) {
          assert.ok(event.tag === 'update')
          heard.push(event.facts.version)
          if (event.facts.version === version + 2) return
        }
      })()
      await setName('site@1.0', 'b')
      await setName('other@1', 'c')
      await read
      assert.deepEqual(
        heard,
        Array.from({ length: version + 2 }, (_, at) => at + 1),
      )
    })
  })
}

function hostOf(platform: Platform) {
  return {
    platform,
    config: new Config({ values: REGISTRY.schema.parse({ bind_addr: '127.0.0.1:0' }), origins: {} }),
    authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: RING, isRevoked: () => false })),
    directory: '/registry',
    version: { service: 'registry' },
    metricsText: async () => '',
    onFatal: (task: string, error: unknown) => assert.fail(`${task}: ${String(error)}`),
  }
}
