import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { freePorts } from './free-ports.ts'

const MODULE = new URL('free-ports.ts', import.meta.url).href
/** Enough blocks that two processes which do not see each other choose one twice. */
const BLOCKS = 60
const BLOCK_PORTS = 7

/** What another process is given, one base in a line; it ends when its input does. */
const OTHER = `
import { freePorts } from ${JSON.stringify(MODULE)}
const bases = []
for (let at = 0; at < ${BLOCKS}; at += 1) bases.push(await freePorts(${BLOCK_PORTS}))
process.stdout.write(bases.join('\\n'))
process.stdout.end()
process.stdin.resume()
`

test('no port is given twice, to this process or to others that live', async (t) => {
  if (process.platform !== 'linux') return t.skip('elsewhere chance alone keeps processes apart')
  const others = [1, 2].map(() => spawn(process.execPath, ['--input-type=module', '-e', OTHER], { stdio: 'pipe' }))
  const said = Promise.all(others.map(async ({ stdout }) => (await text(stdout)).split('\n').map(Number)))
  const bases: number[] = []
  for (let at = 0; at < BLOCKS; at += 1) bases.push(await freePorts(BLOCK_PORTS))
  bases.push(...(await said).flat())
  for (const { stdin } of others) stdin.end()
  assert.equal(bases.length, 3 * BLOCKS)
  bases.sort((a, b) => a - b)
  for (const [at, base] of bases.entries()) {
    assert.ok(base >= 10_000 && base + BLOCK_PORTS <= 32_000, `${base}`)
    assert.ok(at === 0 || base - bases[at - 1]! >= BLOCK_PORTS, `${base} is in two blocks`)
  }
})

test('a port is free on both loopback addresses at once', async () => {
  const port = await freePorts(1)
  for (const host of ['127.0.0.1', '::1']) {
    const server = createServer().listen({ port, host })
    await once(server, 'listening').catch((error: unknown) => {
      assert.equal((error as NodeJS.ErrnoException).code, 'EADDRNOTAVAIL')
    })
    server.close()
  }
})
