import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualWorld } from './world.ts'

test('the power goes at the call that was named, and whoever asks after that is told at once', async () => {
  const world = new VirtualWorld(1)
  const machine = world.machine('node')
  const { disk } = machine.start()
  const heard: string[] = []
  machine.crashAfter(2, () => heard.push('cut'), 'disk.sync')
  machine.onceDown(() => heard.push('down'))
  const write = async (): Promise<void> => {
    const file = await disk.open('a', { mode: 'create' })
    for (const at of [1, 2, 3]) {
      await file.append([Buffer.from('x')])
      await file.sync()
      heard.push(`synced ${at}`)
    }
  }
  write().then(
    () => heard.push('written'),
    () => heard.push('refused'),
  )
  await world.runUntilIdle()
  machine.onceDown(() => heard.push('later'))
  assert.deepEqual(heard, ['synced 1', 'cut', 'down', 'later'])
  assert.ok(!machine.isUp)
})
