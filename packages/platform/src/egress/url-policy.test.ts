import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isKind } from '@cairn/kernel'
import { UrlPolicy } from './url-policy.ts'

const policy = new UrlPolicy({
  allow: ['tiles.example.org', 'Other.Example:8443', 'bücher.example', '8.8.8.8', '[2606:4700::1111]'],
})

function isRefused(text: string, rules = policy): boolean {
  const url = URL.parse(text)
  if (url === null) return true
  try {
    rules.check(url)
    return false
  } catch (error) {
    assert.ok(isKind(error, 'RejectPolicy'), String(error))
    assert.equal(error.code, 'not_allowed')
    return true
  }
}

test('an allowed host is allowed in every spelling of the same name and port', () => {
  const urls = [
    'https://tiles.example.org/a/b?c=d',
    'HTTPS://TILES.EXAMPLE.ORG:443/',
    'https://tiles。example。org/',
    'https://other.example:8443/',
    'https://xn--bcher-kva.example/',
    'https://BÜCHER.example/',
    'https://8.8.8.8/',
    'https://[2606:4700:0::1111]/',
  ]
  for (const url of urls) assert.ok(!isRefused(url), url)
})

test('everything else is refused', () => {
  const urls = [
    'http://tiles.example.org/',
    'ftp://tiles.example.org/',
    'file:///etc/passwd',
    'data:text/plain,x',
    'https://tiles.example.org:8443/',
    'https://other.example/',
    'https://sub.tiles.example.org/',
    'https://tiles.example.org./',
    'https://example.org/',
    'https://tiles.example.org.evil.example/',
    'https://tiles.example.org@evil.example/',
    'https://user@tiles.example.org/',
    'https://user:pass@tiles.example.org/',
    'https://:pass@tiles.example.org/',
    'https://evil.example#@tiles.example.org/',
    'https://evil.example\\@tiles.example.org/',
    'https://evil.example/https://tiles.example.org/',
    'https://8.8.4.4/',
  ]
  for (const url of urls) assert.ok(isRefused(url), url)
})

test('an address in the list is still refused when it is not public', () => {
  const allow = ['127.0.0.1', '10.0.0.1', '[::1]', '[fd00::1]', '169.254.169.254', '0x7f.1', '[::ffff:8.8.8.8]']
  const careless = new UrlPolicy({ allow })
  for (const host of allow) assert.ok(isRefused(`https://${host}/`, careless), host)
})

test('where any host may be named, its address still has to be public and its scheme HTTPS', () => {
  const any = new UrlPolicy({ allow: 'any' })
  const check = (text: string): boolean => isRefused(text, any)
  assert.deepEqual(['https://whatever.example/', 'https://8.8.4.4:444/'].map(check), [false, false])
  for (const text of [
    'http://whatever.example/',
    'https://127.0.0.1/',
    'https://10.0.0.1/',
    'https://[::1]/',
    'https://a:b@whatever.example/',
  ])
    assert.ok(check(text), text)
})

test('for tests loopback is reached over HTTP, and only that is loosened', () => {
  const rules = new UrlPolicy({ allow: ['127.0.0.1:8080', '10.0.0.1:80', '8.8.8.8:80'], devAllowLoopbackHttp: true })
  assert.ok(!isRefused('http://127.0.0.1:8080/', rules))
  assert.ok(isRefused('http://127.0.0.1:8081/', rules))
  assert.ok(isRefused('http://10.0.0.1/', rules))
  assert.ok(isRefused('http://8.8.8.8/', rules))
})

test('an entry that is not a host, or a host and a port, is refused', () => {
  const entries = [
    '',
    '*.example.org',
    'https://a.example',
    'a.example/',
    'a@b',
    'a b',
    'a.example:99999',
    'a.example.',
    'a%2eb',
    '[::1',
  ]
  for (const entry of entries) {
    assert.throws(
      () => new UrlPolicy({ allow: [entry] }),
      (error) => isKind(error, 'Malformed'),
      entry,
    )
  }
})
