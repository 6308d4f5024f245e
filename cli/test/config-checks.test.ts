/** What a start refuses, `config validate` refuses before; and `--port-base` moves ports, not hosts. */
import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { type Ran, Workplace } from './processes.ts'

let place: Workplace
const path = (name: string): string => `${place.directory}/${name}`

before(async () => {
  place = await Workplace.make()
  await writeFile(path('secret'), `whsec_${Buffer.alloc(32, 7).toString('base64')}`)
  await writeFile(path('not-a-certificate.pem'), 'x', { mode: 0o600 })
  await writeFile(path('not-roots.json'), '{}')
  await mkdir(path('used/storage/journal'), { recursive: true, mode: 0o700 })
})
after(async () => {
  await place[Symbol.asyncDispose]()
})

async function cairn(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main(args, terminal)
  return { code, data: terminal.data, words: terminal.words }
}

const HOOK = '[interop.providers.standard]\nenabled = true\n'
const RULE = '[interop]\nrules = [{ provider = "standard", event = "x", then = "forward:https://example.org/" }]\n'

/** Each is right key by key. */
const REFUSED: Readonly<Record<string, readonly [(at: typeof path) => string, RegExp]>> = {
  'a forward that nothing signs': [
    (at) => `${RULE}${HOOK}secrets = [{ file = "${at('secret')}" }]\n`,
    /interop: There is no secret to sign forwards with; set interop\.forward\.secrets/,
  ],
  'a public address without TLS': [
    () => '[edge]\nbind_addr = "0.0.0.0:7174"\n',
    /edge: 0\.0\.0\.0 is reachable from other machines and has no TLS/,
  ],
  'a public address for metrics': [
    () => '[storage]\nmetrics_addr = "0.0.0.0:7179"\n',
    /storage: 0\.0\.0\.0 is reachable from other machines/,
  ],
  'a certificate that is none': [
    (at) => `[edge.tls]\ncert_path = "${at('not-a-certificate.pem')}"\nkey_path = "${at('not-a-certificate.pem')}"\n`,
    /edge: tls\.cert_path and tls\.key_path cannot be used: /,
  ],
  'a key without a certificate': [() => '[edge.tls]\nkey_path = "/x"\n', /edge: TLS needs both/],
  'a provider without a secret': [() => HOOK, /interop: The provider standard is enabled without a secret/],
  'a secret that is not there': [
    (at) => `${HOOK}secrets = [{ file = "${at('nothing')}" }]\n`,
    /interop: There is no secret at file:/,
  ],
  'peers without a name of its own': [
    () => '[storage]\npeers = [{ id = "b", url = "https://b.example/", token_file = "/t" }]\n',
    /storage: storage\.peers needs storage\.placement\.id/,
  ],
  'more shards than drives': [
    (at) => `[storage]\ndrives = ["${at('d1')}", "${at('used/storage')}"]\n[storage.durability]\nmode = "erasure"\n`,
    /storage: storage\.durability asks for \d\+\d shards/,
  ],
  'drives that leave out what is stored': [
    (at) => `[storage]\ndrives = ["${at('d1')}"]\n`,
    /storage: \S+ holds objects and is not one of storage\.drives/,
  ],
  'a registry elsewhere that nothing vouches for': [
    () => '[index.registry]\nurl = "https://registry.example/"\n',
    /index: registry\.url names https:\/\/registry\.example\/; set registry\.trust_path/,
  ],
  'trust roots that are none': [
    (at) => `[registry.bootstrap]\ntrust_roots_path = "${at('not-roots.json')}"\n`,
    /registry: The trust-roots file/,
  ],
  'an empty registry that everybody reaches': [
    () => '[registry]\nbind_addr = "0.0.0.0:7173"\ninsecure_public = true\n',
    /registry: This registry is empty and would be reachable/,
  ],
  'loopback over HTTP at a public edge': [
    () => '[edge]\nbind_addr = "0.0.0.0:7174"\ninsecure_public = true\ndev_allow_loopback_http = true\n',
    /edge: edge\.dev_allow_loopback_http is for tests/,
  ],
  'two services at one address': [
    () => '[edge]\nbind_addr = "127.0.0.1:7071"\n',
    /edge: bind_addr is 127\.0\.0\.1:7071, and storage listens there already/,
  ],
}

for (const [what, [config, says]] of Object.entries(REFUSED))
  test(`validate refuses ${what}, as a start would`, async () => {
    const file = path(`${what.replaceAll(' ', '-')}.toml`)
    await writeFile(file, config(path))
    const ran = await cairn('config', 'validate', file, '--data', path('used'))
    assert.equal(ran.code, 2, ran.words)
    assert.match(ran.words, says)
    assert.ok(ran.words.includes(`${file}: `))
  })

test('what is right is valid, and a flag of the start counts where it is given', async () => {
  await writeFile(path('public.toml'), '[edge]\nbind_addr = "0.0.0.0:7174"\n')
  assert.equal((await cairn('config', 'validate', path('public.toml'), '--insecure-public')).code, 0)
  await writeFile(path('good.toml'), '[storage]\ncache_bytes = "1MiB"\n')
  const ran = await cairn('config', 'validate', path('good.toml'), '--data', path('nowhere'))
  assert.equal(ran.code, 0, ran.words)
})

test('a port base keeps the hosts that the file names, and a start says whose address is refused', async () => {
  await writeFile(path('hosts.toml'), '[edge]\nbind_addr = "0.0.0.0:7174"\n[storage]\nbind_addr = "127.0.0.7:7171"\n')
  const flags = ['--port-base', '0', '--data', path('data'), '--config', path('hosts.toml')]
  const refused = await cairn('start', ...flags)
  assert.equal(refused.code, 2, refused.words)
  assert.match(refused.words, /edge: 0\.0\.0\.0 is reachable from other machines/)
  await writeFile(path('loopback.toml'), '[storage]\nbind_addr = "127.0.0.7:7171"\n')
  const child = place.launch(['start', '--port-base', '0', '--data', path('data'), '--config', path('loopback.toml')])
  const chunks: string[] = []
  for await (const chunk of child.stdout!) {
    chunks.push(String(chunk))
    if (chunks.join('').includes('\n')) break
  }
  const { urls } = JSON.parse(chunks.join('')) as { urls: Record<string, string[]> }
  assert.match(urls['storage']?.[0] ?? '', /^http:\/\/127\.0\.0\.7:\d+$/)
  assert.match(urls['edge']?.[0] ?? '', /^http:\/\/127\.0\.0\.1:\d+$/)
  assert.doesNotMatch(urls['storage']?.[0] ?? '', /:7171$/)
})
