/** Names as people use them: published with one command, reviewed before they are signed, fixed where they are releases. */
import assert from 'node:assert/strict'
import { chmod, rm } from 'node:fs/promises'
import { itemHash, type NameItem } from '@cairn/names'
import { acceptance } from '../case.ts'
import type { RunningNode } from '../node.ts'

interface Envelope<T> {
  readonly result: T
  readonly error: { readonly code: string } | null
  readonly next: readonly string[]
}

async function publish(node: RunningNode, path: string, name: string): Promise<readonly string[]> {
  const { code, out, err } = await node.cairn('publish', path, name)
  assert.equal(code, 0, err)
  return out.trim().split('\n')
}

acceptance(
  'names: one command after the start, and a browser reads a site by its name',
  { finding: 'newcomer A' },
  async (world) => {
    const node = await world.startNode()
    await world.write('site/index.html', '<h1>first</h1>')
    await world.write('site/css/a.css', 'h1 {}')
    const [address = '', url = ''] = await publish(node, world.path('site'), 'site@live')
    assert.match(address, /^b3:[0-9a-f]{64}$/)
    const page = await fetch(url)
    assert.deepEqual([page.status, await page.text()], [200, '<h1>first</h1>'])
    assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
    assert.equal(await (await fetch(new URL('css/a.css', url))).text(), 'h1 {}')
  },
)

acceptance('names: a release is given no second meaning', { finding: 'newcomer B' }, async (world) => {
  const node = await world.startNode()
  await world.write('app/file', 'first')
  const [first = ''] = await publish(node, world.path('app'), 'app@1.0')
  await world.write('app/file', 'second')
  const second = await node.put('second')
  for (const command of [
    ['publish', world.path('app'), 'app@1.0'],
    ['publish', world.path('app'), 'app@1.0', '--channel'],
    ['name', 'propose', 'app@1.0', second],
    ['name', 'propose', 'app@1.0', second, '--supersede', 'a mistake'],
    ['name', 'propose', 'app@1.0', '--remove'],
  ]) {
    const { code, out } = await node.cairn(...command, '--json')
    const { error, next } = JSON.parse(out) as Envelope<unknown>
    assert.deepEqual([code, error?.code], [8, 'ReleaseFixed'], command.join(' '))
    assert.match(next.join('\n'), /^npx cairn publish \S+ NAME/, command.join(' '))
  }
  // A client without the command line is refused by the registry itself.
  const shown = JSON.parse((await node.cairn('name', 'show', 'app@1.0', '--json')).out) as Envelope<{ item: NameItem }>
  const { item } = shown.result
  for (const kind of [{ mutable: true }, {}]) {
    const items = [{ kind: 'name', id: 'app@1.0', prev: itemHash(item), manifest: second, ...kind }]
    const { status, body } = await node.request('registry', '/registry/proposals', {
      method: 'POST',
      admin: true,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ payload: { items } }),
    })
    assert.deepEqual([status, (JSON.parse(body.toString()) as { code: string }).code], [409, 'ReleaseFixed'])
  }
  assert.equal(item.manifest, first)
  assert.match((await node.cairn('name', 'show', 'app@1.0')).out, new RegExp(`manifest +${first}\n`))
})

acceptance(
  'names: who signs sees which files differ, and nothing is signed unasked',
  { finding: 'newcomer B' },
  async (world) => {
    const node = await world.startNode()
    await world.write('site/index.html', 'first')
    await world.write('site/run', 'same')
    const [first = ''] = await publish(node, world.path('site'), 'site@live')
    assert.equal((await node.cairn('registry', 'trust', '-o', world.path('trust.json'))).code, 0)
    await world.write('site/index.html', 'second')
    await world.write('site/new.html', 'new')
    const second = (await node.cairn('put', '-q', world.path('site'))).out.trim()
    const proposed = await node.cairn('name', 'propose', '-q', 'site@live', second, '--note', 'the second')
    const id = proposed.out.trim()

    const trust = ['--trust', world.path('trust.json')]
    const review = await node.cairn('name', 'review', id, ...trust)
    assert.equal(review.code, 0, review.err)
    assert.match(review.out, new RegExp(`site@live: ${first} \\(version 1, .*\\)\n  becomes ${second}\n`))
    const changes = /2 files: 1 added, 0 removed, 1 changed\n +~ index\.html\n +\+ new\.html\n/
    assert.match(review.out, changes)

    const unasked = await node.cairn('name', 'approve', id, ...trust)
    assert.equal(unasked.code, 2, unasked.err)
    assert.match(unasked.err, changes)
    assert.match(unasked.err, /Nothing was signed/)
    assert.match((await node.cairn('name', 'pending')).out, /has 0/)
    assert.equal((await node.cairn('name', 'approve', id, ...trust, '--yes')).code, 0)
    assert.equal((await node.cairn('name', 'commit', id)).code, 0)
    assert.match((await node.cairn('name', 'show', 'site@live')).out, new RegExp(`manifest +${second}\n`))
  },
)

acceptance(
  'names: a download is verified offline, and every file that differs is named',
  { finding: 'newcomer B' },
  async (world) => {
    const node = await world.startNode()
    await world.write('app/data', 'as released')
    await world.write('app/lost', 'as released')
    await chmod(await world.write('app/run', '#!/bin/sh'), 0o755)
    await publish(node, world.path('app'), 'app@1.0')
    const evidence = [
      ['registry', 'trust', '-o', world.path('trust.json')],
      ['name', 'show', 'app@1.0', '--proof', world.path('app.proof'), '--trees'],
      ['get', 'app@1.0', '-o', world.path('got')],
    ]
    for (const command of evidence) assert.equal((await node.cairn(...command)).code, 0, command.join(' '))
    await node.stop()
    const verify = [
      'verify',
      world.path('got'),
      '--proof',
      world.path('app.proof'),
      '--trust',
      world.path('trust.json'),
    ]
    const whole = await world.cairn(verify)
    assert.equal(whole.code, 0, whole.err)
    await world.write('got/data', 'as releasee')
    await world.write('got/more', '')
    await rm(world.path('got/lost'))
    await chmod(world.path('got/run'), 0o644)
    const { code, err } = await world.cairn(verify)
    assert.equal(code, 4, err)
    for (const sentence of ['data has other bytes', 'lost is missing', 'more is not part of', 'run is not executable'])
      assert.ok(err.includes(`${world.path('got')}/${sentence}`), err)
  },
)
