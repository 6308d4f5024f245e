/** A registry that came from a backup only reads, until it has shown that it knows all that was ever signed. */
import assert from 'node:assert/strict'
import { cp, rename, rm, writeFile } from 'node:fs/promises'
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
  await place[Symbol.asyncDispose]()
})

/** With what this user remembers outside of the data directory, or with nothing. */
async function start(state = 'state'): Promise<void> {
  const environment = { CAIRN_STATE: `${place.directory}/${state}` }
  node = await InnerNode.start({ data: `${place.directory}/.cairn`, environment })
}

async function run(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture({ environment: { CAIRN_STATE: `${place.directory}/state` } })
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
  await told('name', 'approve', '--yes', '-q', proposal)
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

test('put back from an older copy it only reads, and says what to do; whoever has seen more tells it where nothing else does', async () => {
  const [data, copy] = [`${place.directory}/.cairn`, `${place.directory}/copy`]
  await cp(data, copy, { recursive: true })
  await start()
  for (let at = 0; at < 4; at += 1) await publish(`later-${at}@1.0`)
  const trust = `${place.directory}/trust.json`
  await told('registry', 'trust', '-o', trust)
  assert.equal((await run('registry', 'verify', '--trust', trust)).code, 0)
  const newest = await saveCheckpoint('seen.txt')
  await node.stop()
  await rename(data, `${place.directory}/newest`)
  await cp(copy, data, { recursive: true })

  const isHeld = async (): Promise<void> => {
    const refused = await run('name', 'propose', 'fork@1.0', ADDRESS)
    assert.notEqual(refused.code, 0)
    assert.match(refused.words, /put back from an older copy.*cairn registry adopt/s)
    const status = await run('status')
    assert.match(status.data, /… registry .*\n.*it has signed \d+ entries, and \d+ are here/)
    for (const proof of [['--checkpoint', newest], ['--moved']])
      assert.match((await run('registry', 'adopt', ...proof)).words, /only \d+ are here/)
  }
  await start()
  await isHeld()
  assert.match((await run('doctor')).data, /✔ outside +\d+ entries signed, known outside of the data directory/)
  await node.stop()

  // The same without the node's own memory: the command line has seen more, and says so before it asks for anything.
  await rm(data, { recursive: true })
  await cp(copy, data, { recursive: true })
  await start('elsewhere')
  await isHeld()
  await node.stop()

  await rm(data, { recursive: true })
  await rename(`${place.directory}/newest`, data)
  await start()
  await publish('goes-on@1.0')
  await node.stop()
  await rm(`${place.directory}/state`, { recursive: true })
  assert.match((await run('doctor')).data, /… outside +.* is not there: an older copy/)
})
