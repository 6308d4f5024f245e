/** Stories that make the service count things. Each runs once, and what it counted is read before the service stops. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import type { Disk } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { largest, type MetricScenario, readMetrics } from '../../../verify/virtual/metric-coverage-suite.ts'
import { noise } from '../../../verify/virtual/noise.ts'
import { VirtualWorld } from '../../../verify/virtual/world.ts'
import { type ServiceOptions, TestService, tokenFor } from './harness.ts'
import { LyingPeer, nodeOptions } from './nodes.ts'
import { CHUNK, clientObject, frames } from './objects.ts'
import { driveSwitch, withDrives } from './several-drives.ts'

const json = (value: unknown) => ({ body: JSON.stringify(value), headers: { 'content-type': 'application/json' } })

/** Objects in by every way there is, out whole and in ranges, from the drive and from memory; then repair and scrub. */
export const traffic: MetricScenario = async () => {
  const service = await TestService.start({ config: { durability: { sweep_interval: '1s' } } })
  const object = clientObject(2 * CHUNK + 9)
  const { chunks, id } = object
  await service.ask('PUT', `/c/${chunks[0]!.id}?upload=u`, { body: chunks[0]!.bytes })
  await service.ask('POST', '/c?upload=u', { body: frames(chunks.map(({ bytes }) => bytes)) })
  await service.ask('PUT', `/m/${id}?upload=u`, { body: object.encoded })
  await service.ask('POST', '/o', { body: 'small' })
  const other = noise(1000, 5)
  await service.ask('PUT', `/o/${addressOf(other)}`, { body: other })
  for (const range of ['', 'bytes=0-9', 'bytes=0-9,20-29', ''])
    await service.ask('GET', `/o/${id}`, range === '' ? {} : { headers: { range } })
  await service.ask('GET', `/c/${chunks[1]!.id}`)
  await service.ask('POST', '/admin/repair', json({ address: id }))
  await service.ask('POST', '/admin/scrub')
  await service.sleep(10_000)
  const begun = await service.world.run(service.begin('GET', `/o/${id}`))
  const reading = await readMetrics(service)
  await (begun.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
  await service.stop()
  return reading
}

/** What was deleted is swept, and the segments it was in are rewritten. */
export const maintenance: MetricScenario = async () => {
  const service = await TestService.start({
    config: { segment_bytes: '2MiB', upload_lease: '1s', durability: { sweep_interval: '1s' } },
  })
  const gone = noise(4 * 1024 * 1024)
  await service.ask('POST', '/o?stream', { body: gone })
  await service.ask('DELETE', `/o/${addressOf(gone)}`)
  await service.sleep(30_000)
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** A start that finds side files, one of them damaged and one gone. */
export const restart: MetricScenario = async () => {
  const config = { segment_bytes: '2MiB' }
  const service = await TestService.start({ config })
  await service.ask('POST', '/o?stream', { body: noise(8 * 1024 * 1024) })
  await service.stop()
  const { machine, world } = service
  const sides = machine.drive.list('data/storage/journal').filter(({ name }) => name.endsWith('.idx'))
  const [damaged, lost] = sides.map(({ name }) => `data/storage/journal/${name}`)
  assert.ok(damaged !== undefined && lost !== undefined)
  machine.drive.damage(damaged, 300)
  machine.drive.unlink(lost)
  machine.kill()
  const again = await TestService.start({ config }, world, machine)
  await again.sleep(1000)
  const reading = await readMetrics(again)
  await again.stop()
  return reading
}

/** A chunk that rotted, found by a read and by the scrub; then a drive that cannot even be read. */
export const damage: MetricScenario = async () => {
  const service = await TestService.start({ config: { cache_bytes: 0 } })
  const bytes = noise(CHUNK)
  await service.ask('POST', '/o', { body: bytes })
  const { drive, faults } = service.machine
  const [segment] = drive.list('data/storage/journal')
  drive.damage(`data/storage/journal/${segment?.name ?? ''}`, (4096 + 300) * 8)
  await service.ask('GET', `/o/${addressOf(bytes)}`)
  await service.sleep(1000)
  await service.ask('POST', '/admin/scrub')
  await service.sleep(10_000)
  const sound = noise(1000, 2)
  await service.ask('POST', '/o', { body: sound })
  await service.ask('HEAD', `/o/${addressOf(sound)}`)
  // The first read is of its record, the second of its chunk.
  faults.plan({ operation: 'read', nth: 2, fault: 'io-error' })
  await service.ask('POST', '/admin/repair', json({ address: addressOf(sound) }))
  await service.sleep(1000)
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** Requests that are refused before they reach anything. */
export const refusals: MetricScenario = async () => {
  const service = await TestService.start({ config: { ingress: { max_rps: 100, burst: 100 } } })
  const gzip = { 'content-encoding': 'gzip' }
  await service.ask('POST', '/o', { body: gzipSync(Buffer.alloc(1024 * 1024)), headers: gzip })
  await service.ask('POST', '/o', { body: 'no gzip', headers: gzip })
  await service.ask('POST', '/o', { body: gzipSync(noise(100)).subarray(0, -9), headers: gzip })
  await service.ask('POST', '/o', { body: noise(1024 * 1024 + 1) })
  const now = Math.floor(service.platform.clock.wall() / 1000)
  for (const token of [
    null,
    tokenFor(['storage:admin']),
    tokenFor(['storage:write'], [{ kind: 'exp', at: Math.max(0, now - 100) }]),
    tokenFor(['storage:write'], [{ kind: 'nbf', at: now + 1000 }]),
    tokenFor(['storage:write'], [], 'index'),
  ])
    await service.ask('POST', '/o', { body: 'x', token })
  for (let at = 0; at < 100; at += 1) await service.send('GET', '/nothing')
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

function withGates(config: ServiceOptions['config']) {
  const shut = gates()
  return { shut, options: { config, wrap: (platform) => gated(platform, shut) } satisfies ServiceOptions }
}

/** More of everything than there is room for, while the drive hangs. */
export const overload: MetricScenario = async () => {
  const { shut, options } = withGates({
    cache_bytes: 0,
    pools: { get: 1, put: 1 },
    drive_timeout: '1s',
    ingress: { max_inflight: 600, max_streams: 1, request_timeout: '50s' },
  })
  const service = await TestService.start(options)
  const cold = noise(1000)
  await service.ask('POST', '/o', { body: cold })
  shut.writes.shut()
  shut.reads.shut()
  const waiting = [
    service.send('GET', `/c/${addressOf(cold)}`, { headers: { 'request-timeout': '1ms' } }),
    ...Array.from({ length: 400 }, async (_, at) => await service.send('POST', '/o', { body: noise(50, at + 2) })),
    ...Array.from({ length: 300 }, async () => await service.send('GET', `/c/${addressOf(cold)}`)),
    ...[3, 4].map(async (seed) => await service.send('POST', '/o?stream', { body: noise(50, seed) })),
  ]
  await service.world.clock.settle()
  const full = await readMetrics(service)
  await service.sleep(5000)
  const late = await readMetrics(service)
  shut.reads.open()
  shut.writes.open()
  await service.world.run(Promise.all(waiting))
  await service.world.run(service.running.stop())
  await service.world.run(service.platform.workers.close())
  return largest(full, late)
}

/** A subscriber of events that does not read, and an operator who asks for more repairs than there is room for. */
export const lag: MetricScenario = async () => {
  const service = await TestService.start({ config: { durability: { repair_pacing: '64KiB' } } })
  using slow = service.parts.events.subscribe()
  for (let chunks = 0; chunks < 1100; chunks += 1)
    service.parts.events.publish({ topic: 'storage.repair.planned', body: { repairs: chunks } })
  slow.tryReceive()
  while (service.parts.repairs.offer(addressOf(noise(10))));
  const reading = await readMetrics(service)
  await service.world.run(service.running.stop())
  await service.world.run(service.platform.workers.close())
  return reading
}

/** A task that a defect ends, and a stop that cannot wait for what is under way. */
export const crash: MetricScenario = async () => {
  const defect = { isNext: false }
  const { shut, options } = withGates({ pools: { put: 1 }, drive_timeout: '10s', ingress: { request_timeout: '60s' } })
  const service = await TestService.start({
    ...options,
    wrap: (platform) => ({ ...gated(platform, shut), disk: defective(gated(platform, shut).disk, defect) }),
  })
  defect.isNext = true
  await service.sleep(2000)
  assert.equal(defect.isNext, false)
  shut.writes.shut()
  const stranded = service.send('POST', '/o', { body: 'x' })
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.run(stranded)
  shut.writes.open()
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  return await readMetrics(service)
}

/** One of two drives is slow. */
export const slowCopy: MetricScenario = async () => {
  const drives = driveSwitch()
  const service = await TestService.start(withDrives(['a', 'b'], drives, { cache_bytes: 0 }))
  const objects = Array.from({ length: 60 }, (_, at) => noise(100, at))
  for (const body of objects) await service.ask('POST', '/o', { body })
  for (const slow of ['a', 'b']) {
    drives.slow.clear()
    drives.slow.set(slow, 500)
    for (const body of objects) await service.ask('GET', `/o/${addressOf(body)}`)
  }
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** One peer has no use for our token, another sends what nobody asked for. */
export const strangers: MetricScenario = async () => {
  const world = new VirtualWorld(1)
  const liar = new LyingPeer(world, 'liar')
  const options = nodeOptions('node', ['node', 'liar', 'stranger'])
  const service = await TestService.start(options, world, world.machine('node'))
  await service.ask('GET', `/o/${liar.id}`)
  await service.world.run(service.platform.disk.unlink('peer.token'))
  await service.sleep(3000)
  const reading = await readMetrics(service)
  liar.close()
  await service.stop()
  return reading
}

/** Its next question for free space is not even asked. */
function defective(disk: Disk, defect: { isNext: boolean }): Disk {
  const space: Disk['space'] = async (path) => await disk.space(path)
  return Object.assign(Object.create(disk) as Disk, {
    space: (path: string) => {
      if (!defect.isNext) return space(path)
      defect.isNext = false
      throw new TypeError('a defect')
    },
  })
}
