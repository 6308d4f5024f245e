import assert from 'node:assert/strict'
import { BlockList, isIP } from 'node:net'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { blockContains, parseIp, parseIpBlock } from './ip.ts'

describe('parseIp', () => {
  test('accepts what the platform accepts, and nothing else', () => {
    const soup = fc.string({ unit: fc.constantFrom(...'0123459afF:.'.split(''), '::', '1.2.3.4', '%'), maxLength: 14 })
    const texts = fc.oneof(soup, fc.ipV4(), fc.ipV6(), fc.ipV4Extended())
    fc.assert(
      fc.property(texts, (text) => {
        // A scope id is not part of an address; the caller takes it off.
        if (!text.includes('%')) assert.equal(parseIp(text) !== undefined, isIP(text) !== 0, text)
      }),
      { numRuns: 10_000 },
    )
  })

  test('reads the bytes, and a mapped IPv4 address as IPv4', () => {
    assert.deepEqual(parseIp('192.0.2.255'), Uint8Array.of(192, 0, 2, 255))
    assert.deepEqual(parseIp('::ffff:192.0.2.255'), Uint8Array.of(192, 0, 2, 255))
    assert.deepEqual(parseIp('::FFFF:c000:2ff'), Uint8Array.of(192, 0, 2, 255))
    assert.deepEqual(parseIp('2001:db8::1'), Uint8Array.of(0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    for (const text of ['', '1.2.3', '1.2.3.256', '01.2.3.4', '1.2.3.4::', ':::', '1:2:3:4:5:6:7::8', '::1%lo']) {
      assert.equal(parseIp(text), undefined, text)
    }
  })
})

describe('blocks', () => {
  test('bits past the prefix must be zero, and the prefix must fit', () => {
    for (const text of ['10.0.0.0/8', '10.1.2.3/32', '0.0.0.0/0', '::/0', 'fe80::/10', '2001:db8::1/128']) {
      assert.notEqual(parseIpBlock(text), undefined, text)
    }
    for (const text of [
      '10.0.0.1/8',
      '10.0.0.0/33',
      '10.0.0.0/08',
      '10.0.0.0',
      '10.0.0.0/',
      '/8',
      '10.0.0.0/8/8',
      '::1/64',
    ]) {
      assert.equal(parseIpBlock(text), undefined, text)
    }
  })

  test('contain what the platform says they contain', () => {
    const near = fc.tuple(fc.ipV4(), fc.nat(32), fc.nat(0xffff)).map(([base, bits, noise]) => {
      const value = base.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
      const network = bits === 0 ? 0 : Math.floor(value / 2 ** (32 - bits)) * 2 ** (32 - bits)
      return { network: dotted(network), bits, ip: dotted((value ^ noise) >>> 0) }
    })
    fc.assert(
      fc.property(near, ({ network, bits, ip }) => {
        const block = parseIpBlock(`${network}/${bits}`)
        const bytes = parseIp(ip)
        assert.ok(block !== undefined && bytes !== undefined)
        const list = new BlockList()
        list.addSubnet(network, bits)
        assert.equal(blockContains(block, bytes), list.check(ip))
      }),
      { numRuns: 2000 },
    )
  })

  test('do not reach across families', () => {
    const [everyIpv4, everyIpv6] = [parseIpBlock('0.0.0.0/0'), parseIpBlock('::/0')]
    const [ipv4, ipv6] = [parseIp('10.0.0.1'), parseIp('2001:db8::1')]
    assert.ok(everyIpv4 && everyIpv6 && ipv4 && ipv6)
    assert.ok(blockContains(everyIpv4, ipv4) && !blockContains(everyIpv4, ipv6))
    assert.ok(blockContains(everyIpv6, ipv6) && !blockContains(everyIpv6, ipv4))
  })
})

function dotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 0xff).join('.')
}
