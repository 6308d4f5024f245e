/** The journal on a machine that is short of something: room on the drive, or files that may be open. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, mkdir, open, stat, statfs, writeFile } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { bytesOf } from '../bytes.ts'
import { acceptance } from '../case.ts'

const MIB = 1024 * 1024
const RESERVE = 16 * MIB

/** Another program that takes what is free. */
async function fillUp(path: string): Promise<void> {
  const { bavail, bsize } = await statfs(path)
  await using file = await open(join(path, 'other'), 'a')
  for (let left = bavail * bsize; left > 0; left -= MIB) {
    try {
      await file.write(Buffer.alloc(Math.min(left, MIB), 1))
    } catch {
      return
    }
  }
}

acceptance('journal: a drive that another program filled', { finding: 'attack R4', limitMs: 90_000 }, async (world) => {
  const drive = world.path('drive')
  await mkdir(drive, { recursive: true })
  // Needs root. Unmounted with the case, whatever becomes of it.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=80m', 'tmpfs', drive])
  try {
    const config = '[storage]\nsegment_bytes = "8MiB"\nreserve_bytes = "16MiB"\n'
    const data = join(drive, '.cairn')
    const node = await world.startNode({ data, config })
    const addresses: string[] = []
    for (let seed = 1; seed <= 12; seed += 1) addresses.push(await node.put(bytesOf(100_000, seed)))
    const reserve = join(data, 'storage/journal/reserve')
    // One without a file of its own for the reserve is looked at all the same, after a while.
    let looks = 0
    await world.eventually(async () => {
      looks += 1
      const found = await stat(reserve).catch(() => undefined)
      return found?.size === RESERVE || looks > 500 ? true : undefined
    })
    const get = async (at: number): Promise<number> => (await node.request('storage', `/o/${addresses[at]}`)).status
    const remove = async (at: number): Promise<number> =>
      (await node.request('storage', `/o/${addresses[at]}`, { method: 'DELETE', admin: true })).status
    await fillUp(drive)
    const refused = await node.request('storage', '/o', { method: 'POST', admin: true, body: bytesOf(500_000, 99) })
    assert.equal(refused.status, 507)
    // The put met the end of the drive: for a moment there is no segment to write to.
    await world.eventually(async () => ((await remove(0)) === 507 ? undefined : true))
    assert.equal(await get(0), 404)
    for (const at of [1, 2, 3]) assert.equal(await remove(at), 204)
    assert.equal(await get(4), 200)
    await node.kill()
    await fillUp(drive)
    await node.relaunch()
    await node.ready()
    for (const at of [4, 5, 6, 7, 8]) assert.equal(await get(at), 200)
    for (const at of [0, 1, 2, 3]) assert.equal(await get(at), 404)
    for (const at of [4, 5, 6]) assert.equal(await remove(at), 204)
    await node.kill()
  } finally {
    execFileSync('umount', ['-l', drive])
  }
})

acceptance('journal: idle clients of one port leave the others served', { finding: 'attack R7' }, async (world) => {
  const program = world.path('few-files')
  await mkdir(world.path('.'), { recursive: true })
  await writeFile(program, `#!/bin/sh\nulimit -n 256\nexec "${process.execPath}" "$@"\n`)
  await chmod(program, 0o700)
  const node = await world.startNode({ program })
  const address = await node.put(bytesOf(10_000))
  const { hostname, port } = new URL(node.urls.storage)
  const idle: Socket[] = []
  try {
    for (let count = 0; count < 400; count += 1) {
      const socket = connect(Number(port), hostname)
      socket.on('error', () => {})
      idle.push(socket)
      await new Promise((resolve) => {
        socket.once('connect', resolve).once('close', resolve)
      })
    }
    for (const service of ['registry', 'index', 'edge', 'interop'] as const)
      assert.equal((await node.request(service, '/healthz')).status, 200, service)
    assert.equal((await node.request('edge', `/edge/assets/b3/${address}`)).status < 500, true)
    assert.match(node.output(), /fewer connections than configured/)
  } finally {
    for (const socket of idle) socket.destroy()
  }
})
