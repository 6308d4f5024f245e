/** What a quorum signed is not deleted under it. */
import assert from 'node:assert/strict'
import { acceptance } from '../case.ts'
import type { RunningNode } from '../node.ts'
import { nameIt, told } from '../operations.ts'
import type { World } from '../world.ts'

const NAME = 'site@1.0'
const PAGE = '<!doctype html>held'

interface Site {
  readonly root: string
  readonly page: string
}

async function publishSite(world: World, node: RunningNode, name = NAME): Promise<Site> {
  await world.write('site/index.html', PAGE)
  await world.write('site/css/style.css', 'a {}')
  const root = await told(node, 'put', '-q', world.path('site'))
  const page = await told(node, 'put', '-q', world.path('site/index.html'))
  await nameIt(node, name, root)
  return { root, page }
}

async function servesSite(node: RunningNode): Promise<boolean> {
  const { status, body } = await node.request('edge', `/edge/assets/n/${NAME}/index.html`)
  return status === 200 && body.toString() === PAGE
}

acceptance(
  'holds: rm of what a name means, and of a file inside it, names the name',
  { limitMs: 120_000 },
  async (world) => {
    const node = await world.startNode()
    const { root, page } = await publishSite(world, node)
    for (const address of [root, page]) {
      const refused = await node.cairn('rm', address)
      assert.equal(refused.code, 8, refused.err)
      assert.match(refused.err, /site@1\.0/)
    }
    await node.restart()
    assert.ok(await world.eventually(async () => ((await servesSite(node)) ? true : undefined)))
    for (const address of [root, page]) assert.equal((await node.cairn('rm', address)).code, 8)
  },
)

acceptance('holds: what a name means no more can be removed', { limitMs: 120_000 }, async (world) => {
  const node = await world.startNode()
  // A channel: what a release means stays.
  const { root } = await publishSite(world, node, 'site@live')
  await nameIt(node, 'site@live')
  await world.eventually(async () => ((await node.cairn('rm', root)).code === 0 ? true : undefined))
})

acceptance('holds: status says which name means what is not here', {}, async (world) => {
  const node = await world.startNode()
  await nameIt(node, NAME, `b3:${'1'.repeat(64)}`)
  await world.eventually(async () => {
    const { out, err } = await node.cairn('status')
    return /The content of 1 name is not all here: site@1\.0/.test(out + err) ? true : undefined
  })
})
