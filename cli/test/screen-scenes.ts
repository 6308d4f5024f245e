/** A day with a node, every command of the table in it; the same day for each way to look. */
import { spawnSync } from 'node:child_process'
import { copyFileSync } from 'node:fs'
import { SystemClock, sleep } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { main } from '../src/main.ts'
import type { Capture } from './capture.ts'
import { FakeNode, problem } from './fake-node.ts'
import { samplePack } from './sample-pack.ts'
import type { ScreenStage } from './screen-stage.ts'

const CLOCK = new SystemClock()
const LOOK_EVERY_MS = 5
const NOTHING = 'b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
const UNKNOWN_ID = '0123456789abcdef0123456789abcdef'

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(CLOCK, LOOK_EVERY_MS)
}

/** Plays the day; what each command looked like is on the stage afterwards. */
export async function playDay(stage: ScreenStage): Promise<void> {
  await beforeTheNode(stage)
  const node = await startNode(stage)
  try {
    await storing(stage)
    await naming(stage)
    await bridging(stage)
    await owning(stage)
    await failing(stage)
  } finally {
    await stopNode(stage, node)
  }
}

async function beforeTheNode(stage: ScreenStage): Promise<void> {
  await stage.show(['--help'], { title: 'help' })
  await stage.show(['get', '--help'], { title: 'help of a command' })
  await stage.show(['--version'], { title: 'version' })
  await stage.show(['stauts'], { title: 'no such command' })
  await stage.show(['completion', 'bash'], { title: 'completion', linesMax: 3 })
  await stage.show(['completion', 'zsh'], { title: 'completion zsh', linesMax: 3 })
  await stage.show(['completion', 'fish'], { title: 'completion fish', linesMax: 3 })
  await stage.show(['key', 'new', stage.path('alice.key'), '--id', 'alice'])
  await stage.show(['config', 'init', stage.path('fresh.toml')])
  await stage.show(['config', 'validate', stage.path('fresh.toml')])
  await stage.show(['hook', 'add', 'github', '--generate', '--secret-file', stage.path('github.secret')])
  await stage.write('world.pmtiles', samplePack(['tile 0', 'tile 1', 'tile 2', 'tile 3', 'tile 4'], 1))
  await stage.show(['pack', 'verify', stage.path('world.pmtiles')])
  await stage.write('site/index.html', '<h1>Hello</h1>')
  await stage.write('site/style.css', 'h1 { color: navy }')
  const secrets = JSON.stringify(stage.path('github.secret'))
  const rules = ['deploys', 'builds'].map(
    (topic) => `{ provider = "github", event = "push", then = "mailbox:${topic}" }`,
  )
  await stage.write(
    'cairn.toml',
    `[interop]\nrules = [${rules.join(', ')}]\n[interop.providers.github]\nenabled = true\nsecrets = [{ file = ${secrets} }]\n`,
  )
}

interface Running {
  readonly ended: Promise<number>
  readonly terminal: Capture
  readonly args: readonly string[]
}

async function startNode(stage: ScreenStage): Promise<Running> {
  const args = ['start', '--port-base', '0', '--data', stage.path('data'), '--config', stage.path('cairn.toml')]
  const terminal = stage.form.terminal({}, '')
  const ended = main([...args, ...stage.form.flags], terminal)
  await until(() => terminal.data + terminal.words !== '')
  stage.keep(args, { code: 0, data: terminal.data, words: terminal.words }, { title: 'start' })
  return { ended, terminal, args }
}

/** Asked over HTTP: the process that is waited for would be this one. */
async function stopNode(stage: ScreenStage, { ended }: Running): Promise<void> {
  const url = await nodeUrl(stage)
  const place = ['--node', url, '--token-file', stage.path('data/admin.token')]
  await stage.show(['stop', ...place], { title: 'stop' })
  await ended
}

async function nodeUrl(stage: ScreenStage): Promise<string> {
  const { result } = JSON.parse(await stage.told('status', '--json')) as { result: { urls: string[] } }
  return result.urls.find((url) => url.startsWith('http')) ?? ''
}

async function storing(stage: ScreenStage): Promise<void> {
  await stage.show(['status'], { title: 'status' })
  await stage.show(['open', '--print'], { title: 'open' })
  await stage.show(['doctor', '--config', stage.path('cairn.toml')], { title: 'doctor' })
  await stage.show(['put', stage.path('site/index.html')], { title: 'put' })
  await stage.show(['put', stage.path('site')], { title: 'put a directory' })
  const address = await stage.told('put', '-q', stage.path('site'))
  await stage.show(['get', address, '-o', stage.path('copy')], { title: 'get' })
  await stage.show(['get', address, '-o', stage.path('copy')], { title: 'get, a file in the way' })
  await stage.show(['get', NOTHING, '-o', stage.path('none')], { title: 'get what nobody has' })
  await stage.show(['ls'], { title: 'ls' })
  await stage.show(['ls', address], { title: 'ls of a directory' })
  await stage.told('put', '-q', await stage.write('old.txt', 'to be dropped'))
  await stage.show(['rm', await stage.told('put', '-q', stage.path('old.txt'))], { title: 'rm' })
  await stage.show(['scrub', '--wait'], { title: 'scrub' })
  await until(async () => await stage.succeeds('providers', address))
  await stage.show(['repair'], { title: 'repair' })
  await stage.show(['providers', address], { title: 'providers' })
  await stage.show(['peers'], { title: 'peers' })
  await stage.show(['bench', '--size', '1KiB', '--time', '20ms'], { title: 'bench' })
}

async function naming(stage: ScreenStage): Promise<void> {
  const address = await stage.told('put', '-q', stage.path('site'))
  const { data } = await stage.show(['name', 'propose', 'site@1.0', address])
  const proposal = /p_[0-9a-f]{32}/.exec(data)?.[0] ?? ''
  await stage.show(['name', 'pending'])
  await stage.show(['name', 'review', proposal])
  await stage.show(['name', 'commit', proposal], { title: 'name commit, too early' })
  await stage.show(['name', 'approve', '--yes', proposal])
  await stage.show(['name', 'commit', proposal])
  await stage.show(['name', 'show', 'site@1.0'])
  await stage.show(['name', 'log'])
  await until(async () => await stage.succeeds('resolve', 'name:site@1.0'))
  await stage.show(['resolve', 'name:site@1.0', '--proof', stage.path('site.proof')], { title: 'resolve' })
  await stage.show(['resolve', 'name:nobody@1.0'], { title: 'resolve what nobody named' })
  await stage.show(['registry', 'signers'])
  await stage.show(['registry', 'trust', '-o', stage.path('trust.json')])
  await stage.show(['verify-proof', stage.path('site.proof'), '--trust', stage.path('trust.json')], {
    title: 'verify-proof',
  })
  const proved = ['--proof', stage.path('site.proof'), '--trust', stage.path('trust.json')]
  await stage.show(['verify', stage.path('site'), ...proved], { title: 'verify' })
  await stage.show(['verify', stage.path('old.txt'), ...proved], { title: 'verify another file' })
  await stage.show(['registry', 'verify', '--trust', stage.path('trust.json')])
  const set = JSON.parse(await stage.told('registry', 'signers')) as { signers: object[] }
  const alice = JSON.parse(await stage.told('key', 'new', stage.path('bob.key'), '--id', 'bob')) as object
  await stage.write('set.json', JSON.stringify({ m: 1, signers: [...set.signers, alice] }))
  await stage.show(['registry', 'rotate', stage.path('set.json')])
  await stage.show(['diff', address, await stage.told('put', '-q', stage.path('site/style.css'))], { title: 'diff' })
  await stage.show(['hash', stage.path('site')], { title: 'hash' })
  await stage.show(['publish', stage.path('site'), 'site@live'], { title: 'publish' })
  await stage.write('checkpoint.txt', 'nothing of the kind')
  await stage.show(['registry', 'adopt', '--checkpoint', stage.path('checkpoint.txt')])
}

async function bridging(stage: ScreenStage): Promise<void> {
  await stage.show(['pack', 'add', 'world', stage.path('world.pmtiles')])
  await until(async () => !(await stage.told('pack', 'ls')).includes('  opening  '))
  await stage.show(['pack', 'ls'])
  await stage.show(['pack', 'rm', 'world'])
  await stage.show(['hook', 'ls'])
  await tailing(stage)
  await stage.show(['hook', 'replay', 'deploys', UNKNOWN_ID])
  await stage.show(['mailbox', 'peek', 'deploys'])
  const receipt = receiptIn((await stage.show(['mailbox', 'lease', 'deploys'])).data)
  await stage.show(['mailbox', 'nack', 'deploys', receipt])
  await stage.show(['mailbox', 'ack', 'builds', receiptIn(await stage.told('mailbox', 'lease', 'builds'))])
  await stage.show(['mailbox', 'dead', 'deploys'])
  await stage.show(['mailbox', 'replay', 'deploys'])
  await stage.show(['audit'], { title: 'audit' })
  await stage.show(['audit', 'verify'])
  await stage.show(['interop', 'adopt'])
}

/** The tail hears of a webhook that is sent once it listens. */
async function tailing(stage: ScreenStage): Promise<void> {
  const args = ['hook', 'tail', '--limit', '1']
  const terminal = stage.form.terminal({ CAIRN_DATA: stage.path('data') }, '')
  const ended = main([...args, ...stage.form.flags], terminal)
  const isQuiet = stage.form.flags.length > 0
  if (isQuiet) await sleep(CLOCK, 200)
  else await until(() => terminal.words !== '')
  await stage.show(['hook', 'test', 'github', await stage.write('push.json', '{"ref":"main"}'), '--event', 'push'])
  stage.keep(args, { code: await ended, data: terminal.data, words: terminal.words })
}

function receiptIn(text: string): string {
  return /[0-9a-f]{32}:\d+:[0-9a-f]+/.exec(text)?.[0] ?? ''
}

async function owning(stage: ScreenStage): Promise<void> {
  await stage.show(['config', 'print', '--origin'], { linesMax: 4, isRagged: true })
  await stage.show(['config', 'reload'])
  await stage.show(['token', 'mint', '--for', 'storage', '--scope', 'storage:write', '--ttl', '1h'])
  await stage.show(['token', 'attenuate', '--for', 'node', '--ttl', '10m'])
  await stage.show(['token', 'inspect'], { linesMax: 8 })
  await stage.show(['token', 'revoke', UNKNOWN_ID])
  await stage.show(['token', 'rotate'])
  await stage.show(['backup', 'create', stage.path('backup')])
  await stage.show(['backup', 'restore', stage.path('backup'), '--data', stage.path('restored')])
}

/** What goes wrong most often: each screen says the cause, and what to type next. */
async function failing(stage: ScreenStage): Promise<void> {
  const other = ['--data', stage.path('other')]
  const { port } = new URL(await nodeUrl(stage))
  await stage.show(['start', '--port-base', port, ...other], { title: 'port in use' })
  await stage.show(['token', 'reset', '--data', stage.path('restored')])
  const typo = await stage.write('typo.toml', '[storage]\ncache_byte = "64MiB"\n')
  await stage.show(['start', '--config', typo, ...other], { title: 'bad configuration' })
  await stage.show(['config', 'validate', typo], { title: 'config validate, a typo' })
  await stage.show(['status', '--data', stage.path('nowhere')], { title: 'no node' })
  await stage.show(['put', stage.path('old.txt'), '--node', 'http://127.0.0.1:9'], { title: 'no service' })
  const wrong = ['--token-file', await stage.write('wrong.token', 'nonsense')]
  await stage.show(['status', ...wrong], { title: 'wrong token' })
  await stage.show(['put', stage.path('old.txt'), ...wrong], { title: 'wrong token at a service' })
  await fullDisk(stage)
  oldNode(stage)
}

async function fullDisk(stage: ScreenStage): Promise<void> {
  await using full = await FakeNode.open()
  full.services = ['storage']
  const detail = 'The drive is full: 0 B of 64 GB are free. Nothing of this object was kept.'
  full.replies.set(`/o/${addressOf(new TextEncoder().encode('to be dropped'))}`, () => problem(507, 'no_space', detail))
  await stage.show(['put', stage.path('old.txt'), ...full.flags], { title: 'full disk' })
}

/** The launcher by itself, under a Node that says it is older, without the one of the dependencies. */
function oldNode(stage: ScreenStage): void {
  const launcher = stage.path('cairn.mjs')
  copyFileSync(new URL('../bin/cairn.js', import.meta.url), launcher)
  const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.11.0' } })`
  const flags = ['--import', `data:text/javascript,${encodeURIComponent(older)}`, launcher]
  const { status, stdout, stderr } = spawnSync(process.execPath, [...flags, 'status', ...stage.form.flags], {
    encoding: 'utf8',
  })
  stage.keep(['status'], { code: status ?? -1, data: stdout, words: stderr }, { title: 'old Node' })
}
