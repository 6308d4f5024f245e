/** Stories that make the service count things. Each runs once, and what it counted is read before the service stops. */
import assert from 'node:assert/strict'
import { gzipSync } from 'node:zlib'
import { type TaskBody } from '@cairn/kernel'
import { itemHash } from '@cairn/names'
import { gated, gates } from '../../../verify/virtual/disk/gated-disk.ts'
import { largest, type MetricScenario, readMetrics } from '../../../verify/virtual/metric-coverage-suite.ts'
import type { CrashPoint } from '../src/domain/crash-points.ts'
import type { RegistryParts } from '../src/parts.ts'
import { DIRECTORY, type ServiceOptions, TestService, tokenFor } from './harness.ts'
import { ALICE, address, BOB, named, type Opened, QuorumClient as People, rootsOf } from './signers.ts'

const ROOTS = rootsOf(1, [ALICE, BOB])
const PRUNING: ServiceOptions = {
  ...ROOTS,
  segmentBytes: 16 * 1024,
  config: { ...ROOTS.config, checkpoint_interval: '1m', retention: { policy: 'by-count', max_count: 100 } },
}

/** Names that come and move, what is refused on the way, a stream, a proof of it all, a prune, and another start. */
export const traffic: MetricScenario = async () => {
  const service = await TestService.start(PRUNING)
  const people = new People(service)
  const stream = await service.world.run(service.begin('GET', '/registry/stream', { token: null }))
  const early = await service.world.run(service.begin('GET', '/registry/stream', { token: null }))
  await (early.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
  let last = named('moves@1', '0')
  let { hash } = await people.publish([last], [ALICE])
  for (let at = 1; at < 45; at += 1) {
    last = named('moves@1', String(at), itemHash(last))
    hash = (await people.publish([last], [at % 2 === 0 ? ALICE : BOB])).hash
  }
  const supersede = { of: hash, reason: 'DataError' }
  await people.publish([named('moves@1', 'right', itemHash(last))], [ALICE], { supersede })
  const stale = await people.propose([named('moves@1', 'stale')])
  await people.approve(stale, ALICE)
  await people.commit(stale)
  await service.ask('POST', '/log/audit-heads', { body: { head: address('chain'), count: 1 } })
  service.config.swap({ values: service.config.current, origins: {} })
  await service.sleep(200_000)
  const pruned = await readMetrics(service)
  await (stream.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
  const again = await service.restart(PRUNING)
  await again.sleep(20_000)
  const restarted = await readMetrics(again)
  await again.stop()
  return largest(pruned, restarted)
}

/** An entry that rotted under a registry that runs. */
export const damage: MetricScenario = async () => {
  const service = await TestService.start(ROOTS)
  await new People(service).publish([named('a@1', 'x')], [ALICE])
  const place = service.machine.drive.list(`${DIRECTORY}/journal`)[0]?.name ?? ''
  const entry = await service.world.run(service.parts.archive.entry(2))
  const { bytes } = service.machine.drive.open(`${DIRECTORY}/journal/${place}`, 'read')
  const all = Buffer.alloc(bytes.length)
  bytes.read(0, all)
  service.machine.drive.damage(`${DIRECTORY}/journal/${place}`, 8 * (all.indexOf(Buffer.from(entry)) + 9))
  await service.ask('POST', '/admin/verify')
  await service.sleep(2_000)
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** A drive that refuses a batch, then a checkpoint, then a prune; and power that goes before a checkpoint is written. */
export const faults: MetricScenario = async () => {
  let armed = false
  const reach = (point: CrashPoint): Promise<void> | undefined => {
    if (!armed || point !== 'entries-synced') return undefined
    service.machine.kill()
    return Promise.withResolvers<void>().promise
  }
  const service = await TestService.start({ ...PRUNING, reach })
  const people = new People(service)
  for (let at = 0; at < 45; at += 1) await people.publish([named(`n-${at}@1`, 'x')], [ALICE])
  for (const nth of [1, 3]) service.machine.faults.plan({ operation: 'append', path: /\.seg/, nth, fault: 'io-error' })
  const body = { payload: { items: [named('b@1', 'y')] } }
  await service.ask('POST', '/registry/proposals', { body })
  await service.sleep(6_000)
  await service.ask('POST', '/registry/proposals', { body })
  service.machine.faults.plan({ operation: 'open', path: /base-/, fault: 'io-error' })
  await service.sleep(60_000)
  const failed = await readMetrics(service)
  armed = true
  service.send('POST', '/registry/proposals', { body }).catch(() => undefined)
  await service.world.run(service.world.sleep(100))
  armed = false
  assert.equal(service.machine.isUp, false)
  const again = await TestService.start(PRUNING, service.world, service.machine)
  const crashed = await readMetrics(again)
  await again.stop()
  return largest(failed, crashed)
}

/** Requests that are refused before they reach anything. */
export const refusals: MetricScenario = async () => {
  const service = await TestService.start({
    ...ROOTS,
    config: { ...ROOTS.config, ingress: { max_rps: 100, burst: 100 } },
  })
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
  const path = '/registry/proposals'
  await service.ask('POST', path, { body: gzipSync(Buffer.alloc(1024 * 1024)), headers })
  await service.ask('POST', path, { body: 'no gzip', headers })
  await service.ask('POST', path, { body: gzipSync(Buffer.from('{"payload":{}}')).subarray(0, -9), headers })
  await service.ask('POST', path, { body: Buffer.alloc(1024 * 1024 + 1) })
  for (const token of [null, tokenFor(['registry:anchor'])]) await service.ask('POST', path, { body: {}, token })
  const opened = await new People(service).propose([named('a@1', 'x')])
  await new People(service).approve(opened, { ...ALICE, id: 'nobody' })
  for (let at = 0; at < 100; at += 1) await service.send('GET', '/nothing')
  const reading = await readMetrics(service)
  await service.stop()
  return reading
}

/** More of everything than there is room for, while the drive hangs. */
export const overload: MetricScenario = async () => {
  const shut = gates()
  const ingress = { max_inflight: 1100, max_streams: 1, request_timeout: '50s' } as const
  const service = await TestService.start({
    ...ROOTS,
    config: { ...ROOTS.config, drive_timeout: '60s', ingress },
    wrap: (platform) => gated(platform, shut),
  })
  const people = new People(service, 'send')
  const proposals: Opened[] = []
  for (let from = 0; from < 513; from += 171) {
    const some = Array.from({ length: 171 }, async (_, at) => await people.propose([named(`n-${from + at}@1`, 'x')]))
    proposals.push(...(await service.world.run(Promise.all(some))))
  }
  shut.writes.shut()
  const first = service.send('POST', '/log/audit-heads', { body: { head: address('first'), count: 1 } })
  await service.world.clock.settle()
  const body = { payload: { items: [named('late@1', 'x')] } }
  const stream = await service.world.run(service.begin('GET', '/registry/stream', { token: null }))
  const waiting = [
    first,
    service.send('POST', '/registry/proposals', { body, headers: { 'request-timeout': '1ms' } }),
    ...Array.from({ length: 514 }, async () => await service.send('POST', '/registry/proposals', { body })),
    ...proposals.map(async (each) => await people.approve(each, ALICE)),
    ...Array.from({ length: 100 }, async () => await service.send('POST', '/registry/proposals', { body })),
    service.send('GET', '/registry/stream'),
  ]
  await service.world.clock.settle()
  const full = await readMetrics(service)
  await service.sleep(1_000)
  const late = await readMetrics(service)
  shut.writes.open()
  await service.world.run(Promise.all(waiting))
  await (stream.body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]().return?.()
  await service.stop()
  return largest(full, late)
}

/** Whoever listens does not: a stalled publisher and pruner, a subscriber of events that never reads, one of versions. */
export const lag: MetricScenario = async () => {
  const hold = Promise.withResolvers<void>()
  const stall = (task: { readonly run: TaskBody }): void => {
    const { run } = task
    const stalled: TaskBody = async (context) => {
      await hold.promise
      await run(context)
    }
    Object.assign(task, { run: stalled })
  }
  const alter = ({ publisher, pruner }: RegistryParts): void => {
    stall(publisher)
    stall(pruner)
  }
  const service = await TestService.start({ ...ROOTS, alter })
  using slow = service.parts.events.subscribe()
  const { updates } = service.parts.publisher.subscribe(undefined)
  for (let at = 0; at < 1100; at += 1) service.parts.events.publish({ topic: 'audit.event', body: {} as never })
  slow.tryReceive()
  while (service.parts.retention.trySend({ size: 1 }) === 'sent');
  const behind = await readMetrics(service)
  const people = new People(service, 'send')
  for (let from = 0; from < 1430; from += 110) {
    const some = Array.from(
      { length: 110 },
      async (_, at) => await people.publish([named(`n-${from + at}@1`, 'x')], [ALICE]),
    )
    await service.world.run(Promise.all(some))
    // A publisher that goes on tells all that was kept and what comes; whoever reads its streams loses some of that.
    if (from === 1100) hold.resolve()
  }
  await service.sleep(1_000)
  updates.tryReceive()
  updates[Symbol.dispose]()
  const later = await readMetrics(service)
  await service.stop()
  return largest(behind, later)
}

/** A task that a defect ends, and a stop that cannot wait for what is under way. */
export const crash: MetricScenario = async () => {
  const shut = gates()
  let isNext = false
  const alter = ({ committer }: RegistryParts): void => {
    const { run } = committer
    Object.assign(committer, {
      run: async (context: Parameters<TaskBody>[0]) => {
        if (isNext) {
          isNext = false
          throw new TypeError('a defect')
        }
        await run(context)
      },
    })
  }
  isNext = true
  const config = { ...ROOTS.config, drive_timeout: '10s', ingress: { request_timeout: '60s' } } as const
  const service = await TestService.start({ ...ROOTS, config, alter, wrap: (platform) => gated(platform, shut) })
  await service.sleep(1_000)
  const opened = await new People(service).propose([named('a@1', 'x')])
  shut.writes.shut()
  const stranded = new People(service, 'send').approve(opened, ALICE)
  await service.world.clock.settle()
  const stopping = service.running.stop()
  await service.world.run(stranded)
  shut.writes.open()
  await service.world.run(stopping)
  await service.world.run(service.platform.workers.close())
  return await readMetrics(service)
}

/** A pruner that is not there while checkpoints go on. */
export const prunerBehind: MetricScenario = async () => {
  const hold = Promise.withResolvers<void>()
  const alter = ({ pruner }: RegistryParts): void => {
    Object.assign(pruner, { run: async () => await hold.promise })
  }
  const service = await TestService.start({ ...PRUNING, alter })
  await service.sleep(10 * 60_000)
  const reading = await readMetrics(service)
  hold.resolve()
  await service.stop()
  return reading
}
