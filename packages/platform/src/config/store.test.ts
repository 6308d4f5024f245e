import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KERNEL_METRICS } from '@cairn/kernel'
import { type VirtualRuntime, virtualRuntime } from '@cairn/kernel/testing'
import { type ConfigFollower, ConfigStore, reloadMetrics } from './store.ts'
import { MemoryFiles } from './test/memory-files.ts'
import { SAMPLE } from './test/sample-schemas.ts'

const FILE = 'cairn.toml'

interface Node {
  readonly store: ConfigStore<typeof SAMPLE>
  readonly disk: MemoryFiles
  readonly storage: VirtualRuntime
  readonly edge: VirtualRuntime
}

async function started(
  toml: string,
  storageRebind?: ConfigFollower<{ bind_addr: string }>['rebind'],
  edgeRebind?: ConfigFollower<unknown>['rebind'],
): Promise<Node> {
  const disk = new MemoryFiles()
  disk.texts.set(FILE, toml)
  const sources = { file: { path: FILE, required: true }, environment: {}, flags: [], disk }
  const opened = await ConfigStore.open(SAMPLE, sources)
  assert.ok(opened.tag === 'opened')
  const { store } = opened
  const storage = virtualRuntime(1, { ...KERNEL_METRICS, ...reloadMetrics('storage') })
  const edge = virtualRuntime(1, { ...KERNEL_METRICS, ...reloadMetrics('edge') })
  store.follow('storage', { ...storage, ...(storageRebind === undefined ? {} : { rebind: storageRebind }) })
  store.follow('edge', { ...edge, ...(edgeRebind === undefined ? {} : { rebind: edgeRebind }) })
  return { store, disk, storage, edge }
}

test('a refused configuration does not open', async () => {
  const sources = { environment: { CAIRN__EDGE__MODE: 'odd' }, flags: [], disk: new MemoryFiles() }
  assert.equal((await ConfigStore.open(SAMPLE, sources)).tag, 'refused')
})

test('a live key changes in one step, wakes whoever watches, and is counted by who asked', async () => {
  const { store, disk, storage, edge } = await started('[storage.ingress]\nmax_rps = 1\n')
  const config = store.config('storage')
  const watched = config.snapshot.changed(config.snapshot.version)
  disk.texts.set(FILE, '[storage.ingress]\nmax_rps = 2\n')
  const outcome = await store.reload('signal')
  assert.deepEqual(outcome, {
    tag: 'reloaded',
    changes: [{ key: 'storage.ingress.max_rps', reload: 'live', origin: 'cairn.toml:2:1' }],
    pendingRestart: [],
  })
  assert.equal(config.current.ingress.max_rps, 2)
  assert.equal((await watched).value.values.ingress.max_rps, 2)
  assert.equal(storage.metrics.value('storage_reload_success_total', { source: 'signal' }), 1)
  assert.equal(edge.metrics.value('edge_reload_success_total', { source: 'signal' }), 1)
  assert.deepEqual(storage.log.lines.at(-1)?.fields['changes'], ['storage.ingress.max_rps (live)'])
  assert.deepEqual(edge.log.lines.at(-1)?.fields['changes'], [])
})

test('nobody at work meanwhile sees the new snapshot of one service beside the old one of another', async () => {
  const { store, disk } = await started('[storage.ingress]\nmax_rps = 1\n[edge]\nmode = "offline"\n')
  disk.texts.set(FILE, '[storage.ingress]\nmax_rps = 2\n[edge]\nmode = "live"\n')
  const seen = new Set<string>()
  const state = { isOver: false }
  const reloaded = store.reload('signal').finally(() => {
    state.isOver = true
  })
  // Works whenever it can.
  for (let steps = 0; !state.isOver && steps < 10_000; steps += 1) {
    seen.add(`${store.config('storage').current.ingress.max_rps} ${store.config('edge').current.mode}`)
    await Promise.resolve()
  }
  assert.equal((await reloaded).tag, 'reloaded')
  assert.deepEqual([...seen], ['1 offline', '2 live'])
})

test('a bad file keeps every old snapshot, says why with its place, and is counted by reason', async () => {
  const { store, disk, storage, edge } = await started('[edge]\nmode = "live"\n')
  const before = store.config('edge').snapshot.version
  disk.texts.set(FILE, '[edge]\nmode = "offline"\nmod = 1\n')
  const outcome = await store.reload('bus')
  assert.equal(outcome.tag, 'refused')
  assert.equal(store.config('edge').current.mode, 'live')
  assert.equal(store.config('edge').snapshot.version, before)
  assert.equal(storage.metrics.value('storage_reload_fail_total', { reason: 'unknown_key' }), 1)
  assert.match(String(edge.log.lines.at(-1)?.fields['problems']), /cairn\.toml:3:1: edge\.mod is not a known key/)
  disk.texts.delete(FILE)
  assert.equal((await store.reload('admin')).tag, 'refused')
  assert.equal(edge.metrics.value('edge_reload_fail_total', { reason: 'unreadable' }), 1)
})

test('a key that needs a restart stays as it is in force and is reported until it matches again', async () => {
  const { store, disk } = await started('[storage]\ndata_dir = "old"\n')
  disk.texts.set(FILE, '[storage]\nbind_addr = "x"\ndata_dir = "new"\n')
  const outcome = await store.reload('signal')
  assert.deepEqual(outcome.tag === 'reloaded' ? outcome.pendingRestart : [], ['storage.data_dir'])
  assert.equal(store.config('storage').current.data_dir, 'old')
  assert.equal(store.config('storage').current.bind_addr, 'x')
  assert.equal(store.config('storage').snapshot.value.origins['storage.data_dir'], 'cairn.toml:2:1')
  const again = await store.reload('signal')
  assert.deepEqual(again.tag === 'reloaded' ? again.pendingRestart : [], ['storage.data_dir'])
  disk.texts.set(FILE, '[storage]\nbind_addr = "x"\ndata_dir = "old"\n')
  assert.deepEqual(await store.reload('signal'), { tag: 'reloaded', changes: [], pendingRestart: [] })
})

test('a rebind opens the new listener before the swap and closes the old one after it', async () => {
  const steps: string[] = []
  const seen = (): string => store.config('storage').current.bind_addr
  const { store, disk } = await started('', async (next) => {
    steps.push(`open ${next.bind_addr} while ${seen()}`)
    return {
      finish: async () => void steps.push(`close old while ${seen()}`),
      rollBack: async () => void steps.push('roll back'),
    }
  })
  disk.texts.set(FILE, '[storage]\nbind_addr = "new"\n[storage.ingress]\nmax_rps = 1\n')
  const outcome = await store.reload('signal')
  assert.equal(outcome.tag, 'reloaded')
  assert.deepEqual(steps, ['open new while 127.0.0.1:7071', 'close old while new'])
})

test('a rebind that fails keeps the old snapshot', async () => {
  const { store, disk, storage } = await started('', async () => {
    throw new Error('port taken')
  })
  disk.texts.set(FILE, '[storage]\nbind_addr = "new"\n[storage.ingress]\nmax_rps = 1\n')
  const outcome = await store.reload('signal')
  assert.match(outcome.tag === 'refused' ? outcome.problems[0]!.detail : '', /stays on the old one: port taken/)
  assert.equal(store.config('storage').current.ingress.max_rps, 0)
  assert.equal(storage.metrics.value('storage_reload_fail_total', { reason: 'rebind_failed' }), 1)
})

test('when one service cannot follow, the listener another has opened is closed again', async () => {
  const steps: string[] = []
  const { store, disk } = await started(
    '',
    async () => ({
      finish: async () => void steps.push('finish'),
      rollBack: async () => void steps.push('roll back'),
    }),
    async () => {
      throw new Error('port taken')
    },
  )
  disk.texts.set(FILE, '[storage]\nbind_addr = "new"\n[edge]\nbind_addr = "new"\n')
  assert.equal((await store.reload('signal')).tag, 'refused')
  assert.deepEqual(steps, ['roll back'])
  assert.equal(store.config('storage').current.bind_addr, '127.0.0.1:7071')
})

test('reloads asked for during a reload share one that starts after it', async () => {
  const { store, disk, storage } = await started('')
  const first = store.reload('signal')
  // Let the first begin to read before the file changes and more signals come.
  await Promise.resolve()
  await Promise.resolve()
  disk.texts.set(FILE, '[edge]\nmode = "live"\n')
  const [, second, third] = await Promise.all([first, store.reload('signal'), store.reload('signal')])
  assert.equal(second, third)
  assert.deepEqual(second.tag === 'reloaded' ? second.changes.map(({ key }) => key) : [], ['edge.mode'])
  assert.equal(storage.metrics.value('storage_reload_success_total', { source: 'signal' }), 2)
})

test('print shows every key, its value in force and its origin, and no secret', async () => {
  const { store } = await started('[storage]\ntoken = "do not show this"\ndrain_deadline = "2s"\n')
  const rows = store.print()
  assert.equal(rows.length, 12)
  assert.deepEqual(
    rows.find(({ key }) => key === 'storage.drain_deadline'),
    { key: 'storage.drain_deadline', value: 2000, origin: 'cairn.toml:3:1', reload: 'live' },
  )
  assert.deepEqual(
    rows.find(({ key }) => key === 'storage.token'),
    { key: 'storage.token', value: '(secret)', origin: 'cairn.toml:2:1', reload: 'live' },
  )
  assert.ok(!JSON.stringify(rows).includes('do not show'))
})

test('a changed secret is reported by name only', async () => {
  const { store, disk, storage } = await started('[storage]\ntoken = "first secret"\n')
  disk.texts.set(FILE, '[storage]\ntoken = "second secret"\n')
  const outcome = await store.reload('signal')
  assert.ok(!JSON.stringify([outcome, storage.log.lines]).includes('second'))
})
