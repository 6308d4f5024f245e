/** A streamed `/put` of any size: the address of its bytes, and a node that does not grow with them. */
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { hashOf, MIB, WatchedNode, writeNoise } from '../../../cli/test/memory-watch.ts'

const TYPE = ['-H', 'Content-Type: application/octet-stream']
/** Chunks are cached too; the cache is not what is measured. */
const ENVIRONMENT = { CAIRN__STORAGE__CACHE_BYTES: '16MiB' }
/** The heap, the connections and the tables of a node that has taken something before. */
const WARM_BYTES = 8 * MIB

interface Growth {
  readonly size: number
  /** Two chunks are 128 KiB; the rest is garbage that nobody has collected yet, and what storage knows of each chunk. */
  readonly growthMax: number
  readonly waitMs: number
}

export async function putsWithoutGrowing(t: TestContext, { size, growthMax, waitMs }: Growth): Promise<void> {
  await using node = await WatchedNode.start(waitMs, ENVIRONMENT)
  const { directory } = node.place
  await writeNoise(`${directory}/warm`, WARM_BYTES, 2)
  await node.curlAt('interop', '/put', '-X', 'POST', ...TYPE, '-T', 'warm')
  const idle = node.bytes
  await writeNoise(`${directory}/in`, size, 1)
  const put = await node.curlAt('interop', '/put', '-X', 'POST', ...TYPE, '-T', 'in')
  const { address } = JSON.parse(put.data) as { address: string }
  assert.equal(address, await hashOf(`${directory}/in`))
  const grown = put.nodeBytes - idle
  const figures = [size, grown, idle].map((bytes) => (bytes / MIB).toFixed(0))
  t.diagnostic(`${figures[0]} MiB in ${put.seconds.toFixed(1)} s: ${figures[1]} MiB above the ${figures[2]} of idle`)
  assert.ok(grown <= growthMax, `it grew by ${grown} bytes`)
}
