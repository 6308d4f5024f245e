import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'
import { ingressSection, listenKeys } from '../pipeline/config.ts'
import { TLS } from '../test/certificates.ts'
import { parseBindAddress, refuseInsecurePublic } from './listener.ts'
import { boundHosts, listenSpecs } from './listeners.ts'

const listen = (input: Record<string, unknown>) => z.strictObject(listenKeys(7071)).parse(input)

test('an address is an IP or localhost, and a port', () => {
  assert.deepEqual(parseBindAddress('127.0.0.1:7071'), { host: '127.0.0.1', port: 7071 })
  assert.deepEqual(parseBindAddress('[::1]:0'), { host: '::1', port: 0 })
  assert.deepEqual(parseBindAddress('LOCALHOST:1'), { host: '127.0.0.1', port: 1 })
  for (const text of ['7071', '127.0.0.1', 'example.org:80', '127.0.0.1:65536', '::1:80', '127.0.0.1:80 '])
    assert.throws(() => parseBindAddress(text), { code: 'malformed' }, text)
})

test('only loopback may go without TLS, unless the operator insists', () => {
  const at = (host: string) => ({ kind: 'tcp', host, port: 1 }) as const
  for (const host of ['127.0.0.1', '127.9.9.9', '::1']) refuseInsecurePublic(at(host), false)
  for (const host of ['0.0.0.0', '::', '192.0.2.1', '10.0.0.1'])
    assert.throws(() => refuseInsecurePublic(at(host), false), { code: 'insecure_public' })
  refuseInsecurePublic(at('0.0.0.0'), true)
  refuseInsecurePublic({ ...at('0.0.0.0'), tls: TLS }, false)
})

test('the listener keys say what to open', async () => {
  const specs = await listenSpecs(
    listen({ metrics_addr: '10.0.0.1:9000', uds: { path: '/run/cairn.sock' }, insecure_public: true }),
  )
  assert.deepEqual(
    specs.map(({ address, listenerKind }) => [
      address.kind === 'tcp' ? `${address.host}:${address.port}` : address.path,
      listenerKind,
    ]),
    [
      ['127.0.0.1:7071', 'service'],
      ['10.0.0.1:9000', 'metrics'],
      ['/run/cairn.sock', 'service'],
    ],
  )
  assert.deepEqual(boundHosts(specs), ['127.0.0.1', '10.0.0.1'])
})

test('a key that others can read is refused, and so is half a pair', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-'))
  const [cert_path, key_path] = [join(directory, 'cert.pem'), join(directory, 'key.pem')]
  await writeFile(cert_path, TLS.cert)
  await writeFile(key_path, TLS.key, { mode: 0o644 })
  await assert.rejects(listenSpecs(listen({ tls: { cert_path, key_path } })), { code: 'reject_policy' })
  await assert.rejects(listenSpecs(listen({ tls: { cert_path } })), { code: 'malformed' })
  await rm(key_path)
  await writeFile(key_path, TLS.key, { mode: 0o600 })
  const [spec] = await listenSpecs(listen({ tls: { cert_path, key_path } }))
  assert.equal(spec?.address.kind === 'tcp' && spec.address.tls?.key, TLS.key)
  await rm(directory, { recursive: true })
})

test('the limits of the configuration are those of the design, and nonsense is refused', () => {
  const config = ingressSection({ max_rps: 500, burst: 250 }).parse({})
  assert.deepEqual(
    [config.max_body_bytes, config.max_inflight, config.max_rps, config.read_timeout, config.idle_timeout],
    [1024 * 1024, 512, 500, 5000, 60_000],
  )
  for (const input of [
    { max_body_bytes: '1B' },
    { max_inflight: 0 },
    { read_timeout: 'soon' },
    { hosts: ['http://a'] },
    { cors: { allow_origins: ['https://a.example/'] } },
    { unknown: 1 },
  ])
    assert.equal(ingressSection().safeParse(input).success, false, JSON.stringify(input))
})
