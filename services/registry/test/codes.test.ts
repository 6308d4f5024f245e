/** Every code a client of this service may have to understand, each triggered once; one without a row fails the last tests. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { CairnError, isKind } from '@cairn/kernel'
import { SeededRandom } from '@cairn/kernel/testing'
import { type Item, itemHash, type SignerSetItem, signerSetHash } from '@cairn/names'
import { readSecret, systemCrypto, writeSecret } from '@cairn/platform'
import { encodeCheckpoint, encodeNote, noteSigner, signNote } from '@cairn/tlog'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { codesSuite } from '../../../verify/virtual/codes-suite.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { writeFile } from '../../../verify/virtual/virtual-service.ts'
import { REGISTRY_CODES } from '../src/errors.ts'
import { registryRoutes } from '../src/main.ts'
import { DIRECTORY, type ServiceOptions, TestService, tokenFor } from './harness.ts'
import { ALICE, address, BOB, MALLORY, named, type Opened, publicHalf, QuorumClient, rootsOf } from './signers.ts'
import { cosignature, WITNESSED } from './witness.ts'

const ROOTS = rootsOf(1, [ALICE, BOB])
const JSON_TYPE = { 'content-type': 'application/json' }

type Trigger = () => Promise<Answer>

/** Asks a service of its own, and ends it. */
function of(
  ask: (service: TestService, quorum: QuorumClient) => Promise<Answer>,
  options: ServiceOptions = ROOTS,
): Trigger {
  return async () => {
    const service = await TestService.start(options)
    const answer = await ask(service, new QuorumClient(service))
    service.machine.faults.clear()
    await service.sleep(10_000)
    await service.stop()
    return answer
  }
}

/** The same about a proposal that is open. */
function about(ask: (service: TestService, quorum: QuorumClient, opened: Opened) => Promise<Answer>): Trigger {
  return of(async (service, quorum) => await ask(service, quorum, await quorum.propose([named('a@1', 'x')])))
}

function proposing(body: Uint8Array | string | object, headers: Readonly<Record<string, string>> = {}): Trigger {
  return of(async (service) => await service.ask('POST', '/registry/proposals', { body, headers }))
}

const GOOD = { payload: { items: [named('good@1', 'x')] } }

/** A write while the drive hangs, and what is answered meanwhile. */
function hanging(ask: (service: TestService) => Promise<Answer>, config: ServiceOptions['config'] = {}): Trigger {
  const shut = gates()
  return of(
    async (service) => {
      shut.writes.shut()
      const answer = await ask(service)
      shut.writes.open()
      await service.sleep(1_000)
      return answer
    },
    { ...ROOTS, config: { ...ROOTS.config, ...config }, wrap: (platform) => gated(platform, shut) },
  )
}

async function rotated(service: TestService, quorum: QuorumClient): Promise<void> {
  const prev = signerSetHash(service.parts.published.value.state.signerSet)
  const set: SignerSetItem = { kind: 'signer_set', id: 'root', prev, m: 1, signers: [publicHalf(BOB)] }
  await quorum.publish([set], [ALICE])
}

/** The codes of the ingress, the kernel and the store that clients know by another name. */
const RENAMED: Readonly<Record<keyof typeof REGISTRY_CODES, Trigger>> = {
  malformed: proposing('{', JSON_TYPE),
  unsupported_type: proposing('{}', { 'content-type': 'text/plain' }),
  unsupported_coding: proposing('{}', { ...JSON_TYPE, 'content-encoding': 'rot13' }),
  bad_coding: proposing('{}', { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  bad_path: of(async (service) => await service.ask('GET', '/registry//head')),
  body_cap: proposing(Buffer.alloc(2 * 1024 * 1024), JSON_TYPE),
  too_large: proposing({ payload: { items: Array.from({ length: 600 }, (_, at) => named(`n-${at}@1`, 'x')) } }),
  ratio_cap: proposing(gzipSync(Buffer.alloc(1024 * 1024)), { ...JSON_TYPE, 'content-encoding': 'gzip' }),
  decompress_cap: of(
    async (service) => {
      const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' }
      return await service.ask('POST', '/registry/proposals', {
        body: gzipSync(new SeededRandom(1).bytes(2000)),
        headers,
      })
    },
    { ...ROOTS, config: { ...ROOTS.config, ingress: { decompress_max_bytes: 1024 } } },
  ),
  busy: of(
    async (service) => {
      const open = await service.world.run(service.begin('GET', '/registry/stream'))
      const answer = await service.ask('GET', '/registry/stream')
      await (open.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
      return answer
    },
    { ...ROOTS, config: { ...ROOTS.config, ingress: { max_streams: 1 } } },
  ),
  timeout: hanging(
    async (service) => {
      const headers = { 'request-timeout': '100ms' }
      return await service.ask('POST', '/registry/proposals', { body: GOOD, headers })
    },
    { drive_timeout: '60s' },
  ),
  canceled: async () => {
    const shut = gates()
    const config = { ...ROOTS.config, drive_timeout: '10s', ingress: { request_timeout: '60s' } } as const
    const service = await TestService.start({ ...ROOTS, config, wrap: (platform) => gated(platform, shut) })
    shut.writes.shut()
    const asked = service.send('POST', '/registry/proposals', { body: GOOD })
    await service.world.clock.settle()
    const stopping = service.running.stop()
    const answer = await service.world.run(asked)
    shut.writes.open()
    await service.world.run(stopping)
    await service.world.run(service.platform.workers.close())
    return answer
  },
  not_found: of(async (service) => await service.ask('GET', '/registry/99')),
  chain_mismatch: of(async (_service, quorum) => {
    await quorum.publish([named('a@1', 'x')], [ALICE])
    const stale = await quorum.propose([named('a@1', 'y')])
    await quorum.approve(stale, ALICE)
    return await quorum.commit(stale)
  }),
  write_failed: of(async (service) => {
    service.machine.faults.plan({ operation: 'sync', path: /journal/, fault: 'io-error' })
    return await service.ask('POST', '/registry/proposals', { body: GOOD })
  }),
  drive_stalled: hanging(async (service) => await service.ask('POST', '/registry/proposals', { body: GOOD }), {
    drive_timeout: '1s',
  }),
  write_unready: hanging(
    async (service) => {
      await service.ask('POST', '/registry/proposals', { body: GOOD })
      return await service.ask('POST', '/registry/proposals', { body: GOOD })
    },
    { drive_timeout: '1s' },
  ),
  integrity: of(
    async (service, quorum) => {
      await quorum.publish([named('a@1', 'x')], [ALICE])
      return await service.ask('GET', '/registry/1')
    },
    {
      ...ROOTS,
      // A drive that gives other bytes under the right sums.
      alter: ({ log }) => {
        const { read } = log
        const altered = async (place: Parameters<typeof read>[0]): Promise<Uint8Array> => {
          const bytes = (await read.call(log, place)).slice()
          bytes[bytes.length - 5]! ^= 1
          return bytes
        }
        Object.assign(log, { read: altered })
      },
    },
  ),
  record_damaged: of(async (service, quorum) => {
    await quorum.publish([named('a@1', 'x')], [ALICE])
    const { drive } = service.machine
    const path = `${DIRECTORY}/journal/0000000001.seg`
    const { bytes } = drive.open(path, 'read')
    const all = Buffer.alloc(bytes.length)
    bytes.read(0, all)
    drive.damage(path, 8 * (all.lastIndexOf('"schema":"cairn.registry/1"') + 20))
    return await service.ask('GET', '/registry/1')
  }),
}

const restored: ServiceOptions = { ...ROOTS, files: { ...ROOTS.files, [`${DIRECTORY}/restored`]: Buffer.from('') } }

/** Asks a registry that only reads to write again, with a note of this size signed by its own key. */
function adopting(size: number): Trigger {
  return async () => {
    const first = await TestService.start(ROOTS)
    const service = await first.restart(restored)
    const { identity, logKey } = service.parts.signer
    const seed = (await service.world.run(readSecret(service.platform, DIRECTORY, 'log-key')))!
    const text = encodeCheckpoint({ origin: identity.origin, size, root: new Uint8Array(32), extensions: [] })
    const signer = noteSigner(logKey, (message) => systemCrypto.ed25519Signer(seed)(message))
    const answer = await service.ask('POST', '/admin/adopt', { body: encodeNote(signNote(text, [signer])) })
    await service.stop()
    return answer
  }
}

/** A witness whose signature comes in one batch with an entry. */
async function movedOn(): Promise<Answer> {
  const shut = gates()
  const config = { ...ROOTS.config, ...WITNESSED }
  const service = await TestService.start({ ...ROOTS, config, wrap: (platform) => gated(platform, shut) })
  const { body: note } = await service.ask('GET', '/log/checkpoint')
  shut.writes.shut()
  const first = service.send('POST', '/log/audit-heads', { body: { head: address('first'), count: 1 } })
  await service.world.clock.settle()
  const cosigned = service.send('POST', '/log/cosignatures', { body: cosignature(note) })
  await service.world.clock.settle()
  shut.writes.open()
  const [, answer] = await service.world.run(Promise.all([first, cosigned]))
  await service.stop()
  return answer
}

const OWN: Readonly<Record<string, Trigger>> = {
  Malformed: RENAMED['malformed']!,
  LengthRequired: proposing(GOOD, { 'content-length': '' }),
  HardLimitExceeded: RENAMED['too_large']!,
  Busy: RENAMED['busy']!,
  Timeout: RENAMED['timeout']!,
  NotFound: RENAMED['not_found']!,
  Integrity: RENAMED['record_damaged']!,
  ChainMismatch: RENAMED['chain_mismatch']!,
  StorageBusy: RENAMED['write_failed']!,
  NotReady: RENAMED['write_unready']!,
  QuotaExceeded: of(async (service) => {
    const asking = { body: { head: address('chain'), count: 7 }, token: tokenFor(['registry:anchor']) }
    for (let at = 0; at < 60; at += 1) await service.ask('POST', '/log/audit-heads', asking)
    return await service.ask('POST', '/log/audit-heads', asking)
  }),
  ReleaseFixed: of(async (service, quorum) => {
    const release = { ...named('a@1', 'x'), mutable: false } as Item
    await quorum.publish([release], [ALICE])
    const body = { payload: { items: [named('a@1', 'y', itemHash(release))] } }
    return await service.ask('POST', '/registry/proposals', { body })
  }),
  ProposalExists: of(async (service) => {
    const body = { ...GOOD, proposal_id: `p_${'7'.repeat(32)}` }
    assert.equal((await service.ask('POST', '/registry/proposals', { body })).status, 202)
    return await service.ask('POST', '/registry/proposals', { body })
  }),
  Behind: adopting(9),
  Forked: adopting(1),
  NotRestored: of(async (service) => await service.ask('POST', '/admin/adopt', { body: 'x' })),
  OwnCheckpoint: async () => {
    const first = await TestService.start(ROOTS)
    const service = await first.restart(restored)
    const { body } = await service.ask('GET', '/log/checkpoint')
    const answer = await service.ask('POST', '/admin/adopt', { body })
    await service.stop()
    return answer
  },
  CheckpointMoved: movedOn,
  QuorumFailed: about(async (_service, quorum, opened) => await quorum.commit(opened)),
  NotASigner: about(async (_service, quorum, opened) => await quorum.approve(opened, MALLORY)),
  InvalidSig: about(async (_service, quorum, opened) => await quorum.approve(opened, { ...MALLORY, id: ALICE.id })),
  RevokedKey: of(async (service, quorum) => {
    await rotated(service, quorum)
    return await quorum.approve(await quorum.propose([named('a@1', 'x')]), ALICE)
  }),
  StaleSignerSet: about(async (service, quorum, opened) => {
    await rotated(service, quorum)
    return await quorum.approve(opened, BOB)
  }),
  DuplicateApproval: about(async (_service, quorum, opened) => {
    await quorum.approve(opened, ALICE)
    return await quorum.approve(opened, ALICE)
  }),
  AlreadyCommitted: about(async (_service, quorum, opened) => {
    await quorum.approve(opened, ALICE)
    await quorum.commit(opened)
    return await quorum.approve(opened, BOB)
  }),
  Expired: async () => {
    const service = await TestService.start(ROOTS)
    const opened = await new QuorumClient(service).propose([named('a@1', 'x')])
    const later = await service.restart({ ...ROOTS, wallSkewMs: 86_400_000 })
    const answer = await new QuorumClient(later).approve(opened, ALICE)
    await later.stop()
    return answer
  },
  no_space: of(async (service) => {
    service.machine.drive.capacityBytes = 1024
    return await service.ask('POST', '/registry/proposals', { body: GOOD })
  }),
  Pruned: async () => {
    const retention = { policy: 'by-count', max_count: 100 } as const
    const config = { ...ROOTS.config, checkpoint_interval: '1m', retention }
    const service = await TestService.start({ ...ROOTS, config, segmentBytes: 16 * 1024 })
    const quorum = new QuorumClient(service)
    let last = named('moves@1', '0')
    await quorum.publish([last], [ALICE])
    for (let at = 1; at < 45; at += 1) {
      last = named('moves@1', String(at), itemHash(last))
      await quorum.publish([last], [ALICE])
    }
    await service.sleep(130_000)
    const answer = await service.ask('GET', '/registry/3')
    await service.stop()
    return answer
  },
}

codesSuite({
  own: OWN,
  renamed: RENAMED,
  names: REGISTRY_CODES,
  routes: async () => {
    const service = await TestService.start(ROOTS)
    const routes = registryRoutes(service.parts)
    await service.stop()
    return routes
  },
})

/** What a start is refused with; whoever operates the registry reads it, no client does. */
const STARTS: Readonly<Record<string, () => Promise<unknown>>> = {
  NoTrustRoots: async () => await TestService.start({ config: { bind_addr: '0.0.0.0:7073', insecure_public: true } }),
  GenesisMismatch: async () => {
    const service = await TestService.start(ROOTS)
    await service.restart(rootsOf(1, [BOB]))
  },
  KeyMismatch: async () => {
    const service = await TestService.start(ROOTS)
    await service.stop()
    await service.world.run(writeSecret(service.platform, DIRECTORY, 'cosigner-key', new Uint8Array(32).fill(3)))
    service.machine.kill()
    await TestService.start(ROOTS, service.world, service.machine)
  },
  LogDamaged: async () => {
    const service = await TestService.start(ROOTS)
    await service.stop()
    await service.world.run(writeFile(service.platform, `${DIRECTORY}/journal/0000000001.seg`, Buffer.alloc(8192)))
    service.machine.kill()
    await TestService.start(ROOTS, service.world, service.machine)
  },
}

describe('a start that cannot be trusted is refused with a code', () => {
  for (const [code, start] of Object.entries(STARTS))
    test(code, async () => {
      await assert.rejects(
        start(),
        (error) => error instanceof CairnError && error.code === code && !isKind(error, 'Internal'),
      )
    })
})
