import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmod, readFile, writeFile } from 'node:fs/promises'
import { test } from 'node:test'
import { SERVICES } from '../src/services.ts'
import { ask } from './asking.ts'
import { Home } from './running-node.ts'

/** A certificate that signs itself; false where the tool is absent. */
function makeCertificate(directory: string): boolean {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1']
  const files = ['-keyout', `${directory}/key.pem`, '-out', `${directory}/cert.pem`]
  try {
    execFileSync('openssl', ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '1', ...subject, ...files], {
      stdio: 'ignore',
    })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
}

test('every service and the node answer over TLS 1.3, and only over that', async (t) => {
  await using home = await Home.make()
  if (!makeCertificate(home.path)) {
    t.skip('tool absent: openssl')
    return
  }
  await chmod(`${home.path}/key.pem`, 0o600)
  const names = ['node', ...SERVICES.map(({ name }) => name)]
  const sections = names.map((name) => `[${name}.tls]\ncert_path = "cert.pem"\nkey_path = "key.pem"\n`)
  await writeFile(`${home.path}/cairn.toml`, sections.join('\n'))
  const node = home.start({ args: ['--port-base', '0'] })
  const { urls } = await node.ready()
  const ca = await readFile(`${home.path}/cert.pem`, 'utf8')
  for (const name of names) {
    const [url = ''] = urls[name] ?? []
    assert.match(url, /^https:\/\/127\.0\.0\.1:/)
    for (const path of ['/healthz', '/readyz', '/metrics', '/version'])
      assert.equal((await ask(url, path, { ca })).status, 200, `${url}${path}`)
    await assert.rejects(ask(url, '/readyz'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    await assert.rejects(ask(url.replace('https:', 'http:'), '/readyz'))
  }
  assert.deepEqual(await node.stop(), { code: 0, signal: null })
})
