/** Every code a client of this service may have to understand, each triggered once; one without a row fails the last test. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { addressOf, encodeManifest, parseAddress, statementText } from '@cairn/wire'
import type { Answer } from '../../../verify/virtual/answer.ts'
import { codesSuite } from '../../../verify/virtual/codes-suite.ts'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { STORAGE_CODES } from '../src/errors.ts'
import { storageRoutes } from '../src/main.ts'
import { type ServiceOptions, TestService } from './harness.ts'
import { nodeOptions } from './nodes.ts'
import { CHUNK, clientObject, frames } from './objects.ts'
import { damageEnd, driveSwitch, withDrives } from './several-drives.ts'

const NOWHERE = addressOf(Buffer.from('nobody stored this'))

/** Asks a service of its own, and ends it. */
function of(
  ask: (service: TestService) => Promise<Answer>,
  options: ServiceOptions = { config: { cache_bytes: 0 } },
): () => Promise<Answer> {
  return async () => {
    const service = await TestService.start(options)
    const answer = await ask(service)
    service.machine.faults.clear()
    await service.sleep(10_000)
    await service.stop()
    return answer
  }
}

/** The same, with an object in it already. */
function about(
  bytes: Buffer,
  ask: (service: TestService, id: string) => Promise<Answer>,
  options?: ServiceOptions,
): () => Promise<Answer> {
  return of(async (service) => {
    await service.ask('POST', '/o?stream', { body: bytes })
    await service.sleep(1000)
    return await ask(service, addressOf(bytes))
  }, options)
}

const SMALL = Buffer.from('small')

/** With two drives, so many of which are gone. */
function lacking(count: number, ask: (service: TestService) => Promise<Answer>): () => Promise<Answer> {
  const drives = driveSwitch()
  return of(
    async (service) => {
      for (const name of ['a', 'b'].slice(0, count)) drives.gone.add(name)
      await service.sleep(1000)
      return await ask(service)
    },
    withDrives(['a', 'b'], drives),
  )
}

async function giveUpFirst(service: TestService): Promise<Answer> {
  const headers = { 'content-type': 'application/json' }
  return await service.ask('POST', '/admin/scrub/give-up', { body: '{"segment":1}', headers })
}

/** The codes by which the ingress and the store know an error, and that clients know by another name. */
const RENAMED: Readonly<Record<keyof typeof STORAGE_CODES, () => Promise<Answer>>> = {
  malformed: of(async (service) => await service.ask('GET', '/o/b3:xyz')),
  body_cap: of(async (service) => await service.ask('POST', '/o', { body: noise(1024 * 1024 + 1) })),
  too_large: of(async (service) => await service.ask('POST', '/o?stream', { body: noise(2000) }), {
    config: { limits: { max_object_bytes: '1KiB' } },
  }),
  address_mismatch: of(async (service) => await service.ask('PUT', `/c/${NOWHERE}`, { body: SMALL })),
  record_damaged: async () => {
    const service = await TestService.start()
    await service.ask('POST', '/o', { body: SMALL })
    await service.stop()
    service.machine.kill()
    // One that has read it, or written it, goes by what it remembers.
    const again = await TestService.start({}, service.world, service.machine)
    await damageEnd(again, 'data/storage/journal')
    const answer = await again.ask('GET', `/o/${addressOf(SMALL)}`)
    await again.stop()
    return answer
  },
  write_unready: of(async (service) => {
    const { faults } = service.machine
    faults.plan({ operation: 'sync', fault: 'io-error' })
    for (let nth = 1; nth <= 3; nth += 1) faults.plan({ operation: 'open', path: /journal/, nth, fault: 'io-error' })
    await service.ask('POST', '/o', { body: SMALL })
    return await service.ask('POST', '/o', { body: SMALL })
  }),
}

const OWN: Readonly<Record<string, () => Promise<Answer>>> = {
  not_found: of(async (service) => await service.ask('GET', `/o/${NOWHERE}`)),
  precondition_failed: about(SMALL, async (service, id) => {
    return await service.ask('GET', `/o/${id}`, { headers: { 'if-match': '"b3:other"' } })
  }),
  range_not_satisfiable: about(SMALL, async (service, id) => {
    return await service.ask('GET', `/o/${id}`, { headers: { range: 'bytes=99-' } })
  }),
  conflict: of(async (service) => await service.ask('PUT', `/o/${NOWHERE}`, { body: SMALL })),
  referenced: about(SMALL, async (service, id) => {
    await service.ask('PUT', `/refs/mailbox/${id}`)
    return await service.ask('DELETE', `/o/${id}`)
  }),
  bad_frame: of(async (service) => await service.ask('POST', '/c', { body: Buffer.alloc(3) })),
  single_chunk: about(SMALL, async (service, id) => await service.ask('GET', `/m/${id}`)),
  missing_chunks: of(async (service) => {
    const object = clientObject(2 * CHUNK)
    return await service.ask('PUT', `/m/${object.id}`, { body: object.encoded })
  }),
  chunk_mismatch: of(async (service) => {
    const [object, other] = [clientObject(2 * CHUNK, 1), clientObject(2 * CHUNK, 2)]
    await service.ask('POST', '/c', { body: frames(other.chunks.map(({ bytes }) => bytes)) })
    const forged = encodeManifest({ ...object.manifest, chunkIds: other.manifest.chunkIds })
    return await service.ask('PUT', `/m/${object.id}`, { body: forged })
  }),
  payload_too_large: RENAMED.body_cap,
  ratio_cap: of(async (service) => await coded(service, gzipSync(Buffer.alloc(1024 * 1024)))),
  decompress_cap: of(async (service) => await coded(service, gzipSync(noise(5000))), {
    config: { ingress: { decompress_max_bytes: 2000 } },
  }),
  integrity: about(noise(CHUNK), async (service, id) => {
    const { drive } = service.machine
    const [segment] = drive.list('data/storage/journal')
    drive.damage(`data/storage/journal/${segment?.name ?? ''}`, (4096 + 300) * 8)
    return await service.ask('GET', `/o/${id}`)
  }),
  read_failed: about(noise(CHUNK), async (service, id) => {
    service.machine.faults.plan({ operation: 'read', fault: 'io-error' })
    return await service.ask('GET', `/o/${id}`)
  }),
  drive_stalled: async () => {
    const shut = gates()
    const hangs = about(
      SMALL,
      async (service, id) => {
        shut.reads.shut()
        const answer = await service.ask('GET', `/o/${id}`)
        shut.reads.open()
        return answer
      },
      { config: { cache_bytes: 0, drive_timeout: '1s' }, wrap: (platform) => gated(platform, shut) },
    )
    return await hangs()
  },
  rebuilding: async () => {
    const config = { segment_bytes: '2MiB', cache_bytes: 0 }
    const service = await TestService.start({ config })
    const bytes = noise(8 * 1024 * 1024)
    await service.ask('POST', '/o?stream', { body: bytes })
    service.machine.crash()
    service.machine.loseSideFiles()
    const again = await TestService.start({ config }, service.world, service.machine)
    const answer = await again.ask('GET', `/o/${addressOf(bytes)}`)
    await again.sleep(10_000)
    assert.equal((await again.ask('GET', `/o/${addressOf(bytes)}`)).status, 200)
    await again.stop()
    return answer
  },
  write_failed: of(async (service) => {
    service.machine.faults.plan({ operation: 'sync', fault: 'io-error' })
    return await service.ask('POST', '/o', { body: SMALL })
  }),
  not_ready: RENAMED.write_unready,
  no_space: of(async (service) => {
    service.machine.drive.capacityBytes = 1024
    return await service.ask('POST', '/o', { body: SMALL })
  }),
  under_replicated: lacking(1, async (service) => await service.ask('POST', '/o', { body: SMALL })),
  copies_away: lacking(2, async (service) => await service.ask('GET', `/o/${addressOf(Buffer.from('gone'))}`)),
  drive_failed: lacking(2, async (service) => await service.ask('POST', '/c', { body: frames([SMALL]) })),
  unsigned_delete: about(SMALL, async (service, id) => await service.ask('DELETE', `/o/${id}?copy=9`)),
  newer_version: about(SMALL, async (service, id) => {
    const record = statementText(service.parts.statements.signDelete(parseAddress(id), 9))
    await service.ask('DELETE', `/o/${id}?copy=9`, { headers: { 'x-cairn-statement': record } })
    return await service.ask('PUT', `/o/${id}?copy=8`, { body: SMALL })
  }),
  segment_active: of(giveUpFirst),
  segment_sound: about(noise(4 * 1024 * 1024), giveUpFirst, { config: { segment_bytes: '2MiB' } }),
  rejoin_empty: of(
    async (service) => {
      const headers = { 'x-cairn-node': 'b', 'x-cairn-life': '1', 'content-type': 'application/json' }
      const asking = { body: '{"ids":[]}', headers }
      await service.ask('POST', '/copies/known', asking)
      await service.sleep(5000)
      return await service.ask('POST', '/copies/known', asking)
    },
    nodeOptions('a', ['a', 'b'], { durability: { tombstone_keep: '1s' } }),
  ),
}

async function coded(service: TestService, body: Buffer): Promise<Answer> {
  return await service.ask('POST', '/o', { body, headers: { 'content-encoding': 'gzip' } })
}

codesSuite({
  own: OWN,
  renamed: RENAMED,
  names: STORAGE_CODES,
  routes: async () => {
    const service = await TestService.start()
    const routes = storageRoutes(service.parts)
    await service.stop()
    return routes
  },
})
