import assert from 'node:assert/strict'
import { BlockList, isIPv4, isIPv6 } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AddressClass, classifyAddress, isPublicUnicast, sameAddress } from './url-policy.ts'

/** First and last address of every block, by class. */
const EDGES: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0', '0.255.255.255', '::', '0:0:0:0:0:0:0:0'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255', '::1', '0:0::1'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  shared: ['100.64.0.0', '100.127.255.255'],
  'link-local': ['169.254.0.0', '169.254.169.254', '169.254.255.255', 'fe80::', 'febf:ffff::1'],
  documentation: [
    '192.0.2.0',
    '198.51.100.255',
    '203.0.113.7',
    '2001:db8::',
    '2001:db8:ffff::1',
    '3fff::',
    '3fff:fff::1',
  ],
  protocol: ['192.0.0.0', '192.0.0.255', '2001:1::1', '2001:1ff:ffff::1'],
  '6to4': ['192.88.99.1', '2002::', '2002:7f00:1::1', '2002:ffff::1'],
  benchmark: ['198.18.0.0', '198.19.255.255', '2001:2::', '2001:2:0:ffff::1'],
  multicast: ['224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1'],
  reserved: ['240.0.0.0', '255.255.255.255', '1::', '1fff:ffff::', '4000::', '5f00::1', 'fbff::'],
  compatible: ['::2', '::127.0.0.1', '::8.8.8.8'],
  mapped: ['::ffff:127.0.0.1', '::ffff:7f00:1', '::FFFF:8.8.8.8', '0:0:0:0:0:ffff:a00:1'],
  nat64: ['64:ff9b::', '64:ff9b::7f00:1', '64:ff9b::8.8.8.8', '64:ff9b:1::', '64:ff9b:1:ffff::1'],
  discard: ['100::', '100::ffff:ffff:ffff:ffff'],
  teredo: ['2001::', '2001:0:4136:e378::1', '2001:0:ffff::1'],
  'unique-local': ['fc00::', 'fd00::1', 'fdff:ffff::1'],
  'site-local': ['fec0::', 'feff::1'],
  public: ['1.1.1.1', '8.8.8.8', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255'],
}
const MORE_PUBLIC = ['128.0.0.0', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0', '191.255.255.255']
const STILL_MORE = [
  '192.0.1.0',
  '192.0.3.0',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '203.0.114.0',
]
const PUBLIC_V6 = [
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2a00::1',
  '2606:4700::1111',
  '3ffe::1',
]

test('every block is told by its edges, and the addresses beside it are public', () => {
  for (const [name, addresses] of Object.entries(EDGES)) {
    for (const address of addresses) assert.equal(classifyAddress(address), name, address)
  }
  for (const address of [...MORE_PUBLIC, ...STILL_MORE, ...PUBLIC_V6]) assert.ok(isPublicUnicast(address), address)
})

test('what is not one plainly written address is invalid', () => {
  const words = `
    127.1 127.0.0.01 0177.0.0.1 0x7f.0.0.1 2130706433 0x7f000001 127.0.0.1. 127.0.0.1:80 256.0.0.1 1.2.3 1.2.3.4.5 1.2.3.-4
    １２７.0.0.1 127。0。0。1 [::1] ::1%lo fe80::1%25eth0 : ::: 1::2::3 12345:: ::1.2.3 ::1.2.3.256 1:2:3:4:5:6:7
    1:2:3:4:5:6:7:8:9 1.2.3.4:: localhost`
  const spellings = ['', ' ', '1.2.3.4 ', ...words.trim().split(/\s+/)]
  for (const spelling of spellings) assert.equal(classifyAddress(spelling), 'invalid', spelling)
})

test('an IPv4 address is public exactly when the list of special blocks of the standard library does not hold it', () => {
  const special = new BlockList()
  const blocks = '0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24'
  const more = '192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/4 240.0.0.0/4'
  for (const block of `${blocks} ${more}`.split(' ')) {
    const [net = '', bits = ''] = block.split('/')
    special.addSubnet(net, Number(bits))
  }
  // Near the edges of blocks as often as anywhere.
  const octet = fc.oneof(
    fc.nat(255),
    fc.constantFrom(0, 2, 10, 18, 51, 88, 99, 100, 113, 127, 168, 169, 172, 192, 198, 203, 254),
  )
  fc.assert(
    fc.property(fc.array(octet, { minLength: 4, maxLength: 4 }), (octets) => {
      const address = octets.join('.')
      assert.equal(isPublicUnicast(address), !special.check(address), address)
    }),
    { numRuns: 5000 },
  )
})

test('whatever is taken for an address is one to the standard library too', () => {
  const text = fc.oneof(fc.ipV4(), fc.ipV6(), fc.ipV4Extended(), fc.stringMatching(/^[0-9a-f:.]{1,20}$/))
  fc.assert(
    fc.property(text, (address) => {
      const found: AddressClass = classifyAddress(address)
      assert.equal(found !== 'invalid', isIPv4(address) || isIPv6(address), `${address} ${found}`)
    }),
    { numRuns: 5000 },
  )
})

test('no form that carries an IPv4 address inside is public', () => {
  fc.assert(
    fc.property(fc.ipV4(), (inner) => {
      const [a = 0, b = 0, c = 0, d = 0] = inner.split('.').map(Number)
      const high = ((a << 8) | b).toString(16)
      const low = ((c << 8) | d).toString(16)
      const forms = [
        `::ffff:${inner}`,
        `::${inner}`,
        `64:ff9b::${inner}`,
        `::ffff:0:${inner}`,
        `2002:${high}:${low}::1`,
      ]
      for (const form of [...forms, `2001:0:${high}:${low}::1`]) assert.ok(!isPublicUnicast(form), form)
    }),
  )
})

test('two spellings of one address are the same address', () => {
  assert.ok(sameAddress('2001:4860:4860::8888', '2001:4860:4860:0:0:0:0:8888'))
  assert.ok(sameAddress('::ffff:1.2.3.4', '1.2.3.4'))
  assert.ok(!sameAddress('1.2.3.4', '1.2.3.5'))
  assert.ok(!sameAddress('1.2.3.4', '::1'))
  assert.ok(!sameAddress('nonsense', 'nonsense'))
})
