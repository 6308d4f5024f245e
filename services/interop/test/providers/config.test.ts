/** `[interop.providers.*]`: off until enabled; secrets named, read, and never shown. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type CairnError } from '@cairn/kernel'
import { virtualRuntime } from '@cairn/kernel/testing'
import { declaredKeys, loadConfig, MemoryDisk, section, systemCrypto } from '@cairn/platform'
import { providersSection } from '../../src/providers/config.ts'
import { openProviders } from '../../src/providers/open-providers.ts'
import { readProviderSecrets } from '../../src/providers/secret.ts'
import { isRefused, isVerified, opened, secret } from './opened.ts'

const SCHEMAS = { interop: section({ providers: providersSection }) }

async function load(toml: string) {
  const disk = memoryDisk()
  await write(disk, 'cairn.toml', toml)
  return await loadConfig(SCHEMAS, { file: { path: 'cairn.toml', required: true }, environment: {}, flags: [], disk })
}

async function write(disk: MemoryDisk, path: string, text: string): Promise<void> {
  await using file = await disk.open(path, { mode: 'create' })
  await file.append([Buffer.from(text)])
}

async function loaded(toml: string) {
  const result = await load(toml)
  if (result.tag === 'refused') assert.fail(JSON.stringify(result.problems))
  return result.values.interop.providers
}

async function problems(toml: string): Promise<string> {
  const result = await load(toml)
  if (result.tag !== 'refused') assert.fail('loaded')
  return result.problems.map(({ place, detail }) => `${place} ${detail}`).join('\n')
}

const memoryDisk = (): MemoryDisk => new MemoryDisk(virtualRuntime(), 1024 * 1024)

const machine = (disk: MemoryDisk, environment: Readonly<Record<string, string>>) => {
  const none = (): never => assert.fail('not asked for')
  return { disk, process: { pid: 1, environment, onSignal: none, exit: none } }
}

describe('the section', () => {
  test('everything is off until enabled, and what names a secret is never shown', async () => {
    const config = await loaded('')
    assert.equal(openProviders(config, new Map(), systemCrypto).size, 0)
    const keys = declaredKeys(SCHEMAS)
    const secret = keys.filter((each) => each.secret === true).map(({ key }) => key.replace('interop.providers.', ''))
    const places = ['github.secrets', 'github.reconcile.token', 'slack.secrets', 'stripe.secrets', 'standard.secrets']
    assert.deepEqual(secret, [...places, 'generic.secrets'])
    assert.ok(
      keys.every(({ does }) => does.endsWith('.')),
      'a sentence for each',
    )
  })

  test('secrets are names of places; what is wrong is named with its line', async () => {
    const config = await loaded(`[interop.providers.github]
enabled = true
secrets = [{ env = "GITHUB_WEBHOOK_SECRET", not_after = "2027-01-01T00:00:00Z" }, { file = "keys/next" }]
max_body_bytes = "25MiB"
`)
    assert.deepEqual(config.github.secrets, [
      { env: 'GITHUB_WEBHOOK_SECRET', not_after: '2027-01-01T00:00:00Z' },
      { file: 'keys/next' },
    ])
    assert.equal(config.github.max_body_bytes, 25 * 1024 * 1024)
    const wrong = await problems(`[interop.providers.github]
secrets = [{ value = "hunter2" }, { env = "A", file = "b" }]
max_body_bytes = "26MiB"
`)
    assert.match(
      wrong,
      /cairn\.toml:2:\d+ .*secrets\.0\.value is not a known key; the keys here are env, file, not_after/,
    )
    assert.match(wrong, /cairn\.toml:2:\d+ .*secrets\.1 must have either env or file/)
    assert.match(wrong, /cairn\.toml:3:\d+ .*25MiB/)
    assert.doesNotMatch(wrong, /hunter2/)
    assert.match(
      await problems('[interop.providers.slack]\nsecrets = [{ env = "A", not_after = "soon" }]\n'),
      /2027-01-01/,
    )
    assert.match(await problems('[interop.providers.github]\nallowed_cidrs = ["10.0.0.1/8"]\n'), /192\.30\.252\.0\/22/)
  })
})

describe('reading secrets', () => {
  test('from the environment and from files, without the end of the line', async () => {
    const config = await loaded(`[interop.providers.github]
enabled = true
secrets = [{ env = "A", not_after = "2027-01-01T00:00:00+01:00" }, { file = "s" }]
[interop.providers.slack]
secrets = [{ env = "NOBODY_ASKS_FOR_IT" }]
`)
    const disk = memoryDisk()
    await write(disk, 's', 'from a file \r\n')
    const secrets = await readProviderSecrets(machine(disk, { A: 'from outside' }), config)
    assert.deepEqual(
      [...secrets],
      [
        [
          'github',
          [
            { id: 'env:A', text: 'from outside', notAfterMs: Date.UTC(2026, 11, 31, 23) },
            { id: 'file:s', text: 'from a file ', notAfterMs: undefined },
          ],
        ],
      ],
    )
  })

  test('an enabled provider without one does not start, and says where it should be', async () => {
    const refusals = [
      ['[interop.providers.stripe]\nenabled = true\n', /interop\.providers\.stripe\.secrets/],
      ['[interop.providers.stripe]\nenabled = true\nsecrets = [{ env = "GONE" }]\n', /env:GONE/],
      ['[interop.providers.stripe]\nenabled = true\nsecrets = [{ env = "EMPTY" }]\n', /env:EMPTY/],
      ['[interop.providers.stripe]\nenabled = true\nsecrets = [{ file = "nowhere" }]\n', /file:nowhere/],
    ] as const
    for (const [toml, says] of refusals) {
      const read = readProviderSecrets(machine(memoryDisk(), { EMPTY: '' }), await loaded(toml))
      await assert.rejects(read, (error: CairnError) => error.code === 'bad_provider' && says.test(error.message))
    }
  })

  test('one that is not of the form is refused without being shown', () => {
    for (const text of ['hunter2', 'whsec_aHVudGVyMg==', 'whsec_hunter2', 'whpk_aHVudGVyMg==']) {
      assert.throws(
        () => opened('standard', [{ id: 'env:S', text, notAfterMs: undefined }]),
        (error: CairnError) =>
          /env:S/.test(error.message) && !error.message.includes(text) && !/hunter2/.test(error.message),
      )
    }
  })
})

describe('where requests may come from', () => {
  const provider = opened('github', [secret('s')], {
    github: {
      allowed_hosts: ['github.com', 'hooks.example:8443'],
      allowed_cidrs: ['192.30.252.0/22', '2a0a:a440::/29'],
    },
  })
  const verify = (headers: readonly (readonly [string, string])[], peer: string | undefined) =>
    provider.verify({ headers, body: new Uint8Array(0), nowMs: 0, peer })
  const PEER = '192.30.253.7'

  test('a host or an address outside the lists is BAD_ORIGIN, whatever it signs', () => {
    isRefused(verify([['origin', 'https://evil.example']], PEER), 'BAD_ORIGIN')
    isRefused(verify([['x-forwarded-host', 'github.com.evil.example']], PEER), 'BAD_ORIGIN')
    isRefused(verify([['origin', 'null']], PEER), 'BAD_ORIGIN')
    isRefused(verify([], '10.0.0.1'), 'BAD_ORIGIN')
    isRefused(verify([], undefined), 'BAD_ORIGIN')
  })

  test('inside the lists a signature is needed all the same', () => {
    isRefused(verify([['x-forwarded-host', 'GitHub.com']], PEER), 'UNAUTH')
    isRefused(verify([['origin', 'https://hooks.example:8443']], '2a0a:a440::1'), 'UNAUTH')
    const signature = 'sha256=f96b697d7cb7938d525a2f31aaf161d0ce2a2a1a8b0a2b3f0b6b8b1d9c0e8e6f'
    isRefused(verify([['x-hub-signature-256', signature]], PEER), 'UNAUTH')
    isVerified(
      opened('generic', [secret('s')]).verify({
        headers: [['x-signature', hmacOfNothing()]],
        body: new Uint8Array(0),
        nowMs: 0,
      }),
    )
  })
})

function hmacOfNothing(): string {
  return Buffer.from(systemCrypto.hmacSha256(Buffer.from('s'), new Uint8Array(0))).toString('hex')
}
