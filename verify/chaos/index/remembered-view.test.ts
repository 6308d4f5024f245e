/** What the index's view of the registry rests on over restarts, outages and lost files. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { manifest, TestRegistry } from '../../../packages/names/test/registry.ts'
import { VirtualWorld } from '../../virtual/world.ts'
import { fork, LyingRegistry, SIGNERS } from './lying-registry.ts'
import { scene } from './scene.ts'
import { DIRECTORY, Viewing } from './viewing.ts'

test('a registry that is gone: proofs that are known are still given, with their age', async () => {
  const { registry, viewing } = await scene()
  await viewing.resolve('site@1.0')
  registry.isGone = true
  await viewing.until('unreachable')
  await viewing.sleep(60_000)
  const known = await viewing.resolve('site@1.0')
  assert.ok(known.tag === 'found' && known.freshnessMs >= 60_000 && known.freshnessMs < 70_000, JSON.stringify(known))
  assert.equal((await viewing.resolve('other@1')).tag, 'unready')
  assert.deepEqual(await viewing.resolve('none@1'), { tag: 'absent' })
  assert.equal(viewing.refused('bad_answer'), 0)
  registry.isGone = false
  await viewing.until('following')
  const again = await viewing.resolve('site@1.0')
  assert.ok(again.tag === 'found' && again.freshnessMs < 1000)
  await viewing.stop()
})

test('nothing is said before the registry was asked', async () => {
  const registry = new LyingRegistry()
  registry.isGone = true
  const viewing = new Viewing(new VirtualWorld(1), () => registry.client, registry.log.trust())
  await viewing.sleep(1000)
  const answer = await viewing.resolve('site@1.0')
  assert.ok(answer.tag === 'unready' && /cannot be asked/.test(answer.detail), JSON.stringify(answer))
  registry.isGone = false
  await viewing.until('following')
  await viewing.stop()
})

test('another log than the trust file names is refused from the start', async () => {
  const registry = new LyingRegistry()
  const other = new TestRegistry(SIGNERS, 2, 7)
  const viewing = new Viewing(new VirtualWorld(1), () => registry.client, other.trust())
  await viewing.until('refused')
  assert.equal(viewing.view.changes.value, 0)
  assert.equal((await viewing.resolve('site@1.0')).tag, 'unready')
  await viewing.stop()
})

test('a genesis that only resembles the trusted one is refused', async () => {
  const registry = new LyingRegistry()
  const honest = registry.log.trust()
  const genesis = `${honest.genesis.slice(0, -1)}${honest.genesis.endsWith('0') ? '1' : '0'}` as typeof honest.genesis
  const viewing = new Viewing(new VirtualWorld(1), () => registry.client, { ...honest, genesis })
  const status = await viewing.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'other_genesis', JSON.stringify(status))
  await viewing.stop()
})

test('another trust file than what was proved before rests on is refused, and it says what to do', async () => {
  const world = new VirtualWorld(1)
  const { viewing } = await scene(world)
  await viewing.stop()
  const registry = new LyingRegistry()
  registry.show(new TestRegistry(SIGNERS, 2, 7))
  const second = new Viewing(world, () => registry.client, registry.log.trust())
  const status = await second.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'other_origin', JSON.stringify(status))
  assert.match(status.detail, /pin\.json remembers .* To follow the other log, remove that file\./)
  await second.stop()
})

test('without a trust file the first registry met is believed, and after a restart only that one', async () => {
  const world = new VirtualWorld(1)
  const registry = new LyingRegistry()
  registry.log.setName('site@1.0', 'a')
  const first = new Viewing(world, () => registry.client)
  await first.reach(1)
  await first.stop()
  const honest = registry.log
  registry.show(new TestRegistry(SIGNERS, 2, 7))
  registry.log.setName('site@1.0', 'f')
  const second = new Viewing(world, () => registry.client)
  const status = await second.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'checkpoint_signature', JSON.stringify(status))
  registry.show(honest)
  await second.until('following')
  assert.equal(await second.meaning('site@1.0', honest.trust()), manifest('a'))
  await second.stop()
})

test('after a restart only what is new is read; what was proved is remembered, also after a kill', async () => {
  const world = new VirtualWorld(1)
  const { registry, viewing } = await scene(world)
  const { log } = registry
  for (let count = 0; count < 300; count += 1) log.propose([{ kind: 'region', id: `r${count}`, prev: null }])
  await viewing.sleep(6_000)
  assert.equal(registry.asked.get('entries'), 3)
  const open = log.propose([{ kind: 'name', id: 'late@1', prev: null, manifest: manifest('e') }])
  log.approve(open, SIGNERS[0]!)
  await viewing.sleep(6_000)
  await viewing.stop()
  log.approve(open, SIGNERS[1]!)
  assert.equal(log.commit(open), 'ok')
  registry.asked.clear()
  const second = new Viewing(world, () => registry.client)
  await second.reach(3)
  assert.equal(registry.asked.get('entries'), 1, 'the bundle that was full is not read again')
  assert.equal(registry.asked.get('trust'), undefined, 'whom to believe is remembered')
  assert.equal(await second.meaning('late@1', log.trust()), manifest('e'))
  await second.sleep(1000)
  second.kill()
  registry.lies.checkpoint = () => log.checkpoint({ size: log.leaves.length - 1 })
  const third = new Viewing(world, () => registry.client)
  const status = await third.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'older_than_pin', JSON.stringify(status))
  registry.lies = {}
  await third.reach(3)
  assert.equal(await third.meaning('late@1', log.trust()), manifest('e'))
  await third.stop()
})

test('a damaged view is made again from the log; a damaged pin is not passed over', async () => {
  const world = new VirtualWorld(1)
  const { registry, viewing } = await scene(world)
  await viewing.stop()
  await damage(viewing, `${DIRECTORY}/view`, 'a'.repeat(64), 'f'.repeat(64))
  registry.asked.clear()
  const second = new Viewing(world, () => registry.client)
  await second.reach(2)
  assert.equal(registry.asked.get('entries'), 1)
  assert.equal(await second.meaning('site@1.0', registry.log.trust()), manifest('a'))
  await second.stop()
  await damage(second, `${DIRECTORY}/pin.json`, '"size"', '"sise"')
  const third = new Viewing(world, () => registry.client)
  const status = await third.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'pin_damaged', JSON.stringify(status))
  assert.match(status.detail, /pin\.json.*is damaged\. Restore it/)
  await third.stop()
})

test('a log that is read anew still has to continue what was proved before', async () => {
  const world = new VirtualWorld(1)
  const { registry, viewing } = await scene(world)
  await viewing.stop()
  await damage(viewing, `${DIRECTORY}/view`, 'a'.repeat(64), 'f'.repeat(64))
  const honest = registry.log
  registry.show(fork(['site@1.0', 'other@1', 'third@1']))
  const second = new Viewing(world, () => registry.client)
  const status = await second.until('refused')
  assert.ok(status.tag === 'refused' && status.reason === 'forked', JSON.stringify(status))
  assert.equal((await second.resolve('site@1.0')).tag, 'unready')
  registry.show(honest)
  await second.reach(2)
  await second.stop()
})

/** Puts other words into a file of a machine that is off. */
async function damage({ machine, world }: Viewing, path: string, words: string, others: string): Promise<void> {
  const platform = machine.start()
  await world.run(
    (async () => {
      const file = await platform.disk.open(path, { mode: 'append' })
      const bytes = new Uint8Array(await file.size())
      await file.read(0, bytes)
      const text = new TextDecoder().decode(bytes)
      assert.ok(text.includes(words))
      await file.truncate(0)
      await file.append([new TextEncoder().encode(text.replace(words, others))])
      await file.sync()
      await file.close()
      await platform.workers.close()
    })(),
  )
  machine.kill()
}

test('where retention removed the beginning, each name is believed by its own proof', async () => {
  const registry = new LyingRegistry()
  const { log } = registry
  log.setName('site@1.0', 'a')
  for (let count = 0; count < 300; count += 1) log.propose([{ kind: 'region', id: `r${count}`, prev: null }])
  log.setName('other@1', 'b')
  registry.minimumIndex = 256
  const viewing = new Viewing(new VirtualWorld(1), () => registry.client, log.trust())
  await viewing.reach(2)
  assert.equal(await viewing.meaning('site@1.0', log.trust()), manifest('a'))
  assert.equal(await viewing.meaning('none@1', log.trust()), undefined)
  log.setName('site@1.0', 'c')
  registry.tellHead()
  await viewing.reach(3)
  assert.equal(await viewing.meaning('site@1.0', log.trust()), manifest('c'))
  registry.lies.checkpoint = () => log.checkpoint({ size: 200 })
  await viewing.until('refused')
  assert.equal(await viewing.meaning('site@1.0', log.trust()), manifest('c'))
  await viewing.stop()
})
