/** A registry that came from a backup only reads, until it has shown that it knows all that was ever signed. */
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { type Ran, Workplace } from './processes.ts'

const ADDRESS = `b3:${'ab'.repeat(32)}`

let place: Workplace
let node: InnerNode

before(async () => {
  place = await Workplace.make()
})
after(async () => {
  await node[Symbol.asyncDispose]()
  await place[Symbol.asyncDispose]()
})

async function start(): Promise<void> {
  node = await InnerNode.start({ data: `${place.directory}/.cairn` })
}

async function run(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { HOME: place.directory } })
  const code = await main([...args, '--data', `${place.directory}/.cairn`], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function told(...args: readonly string[]): Promise<string> {
  const { code, data, words } = await run(...args)
  assert.equal(code, 0, `${args.join(' ')}: ${words}`)
  return data.trim()
}

async function saveCheckpoint(file: string): Promise<string> {
  const path = `${place.directory}/${file}`
  await writeFile(path, Buffer.from(await (await fetch(`${node.urls['registry']?.[0]}/log/checkpoint`)).arrayBuffer()))
  return path
}

async function publish(name: string): Promise<void> {
  const proposal = await told('name', 'propose', '-q', name, ADDRESS)
  await told('name', 'approve', '-q', proposal)
  await told('name', 'commit', '-q', proposal)
}

test('restored, refused, adopted, and after a restart it writes again', async () => {
  await start()
  const notRestored = await run('registry', 'adopt', '--checkpoint', await saveCheckpoint('first.txt'))
  assert.notEqual(notRestored.code, 0)
  assert.match(notRestored.words, /was not restored/)
  await publish('site@1.0')
  const newest = await saveCheckpoint('newest.txt')
  await node.stop()

  await writeFile(`${place.directory}/.cairn/registry/restored`, '')
  await start()
  assert.match(await told('name', 'show', 'site@1.0'), new RegExp(ADDRESS), 'it reads')
  const refused = await run('name', 'propose', 'site@2.0', ADDRESS)
  assert.notEqual(refused.code, 0)
  assert.match(refused.words, /restored from a backup.*cairn registry adopt/s)

  const without = await run('registry', 'adopt')
  assert.match(without.words, /--checkpoint FILE/)
  const forged = `${place.directory}/forged.txt`
  await writeFile(forged, 'not a checkpoint\n')
  assert.notEqual((await run('registry', 'adopt', '--checkpoint', forged)).code, 0)

  const adopted = await run('registry', 'adopt', '--checkpoint', newest)
  assert.equal(adopted.code, 0, adopted.words)
  assert.match(adopted.words, /writes again after a restart/)
  await node.stop()
  await start()
  await publish('site@2.0')
  await node.stop()
})
