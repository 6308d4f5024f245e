/** Ways to write a place that must not be reached. Each is tried as an allowed host, so that only the address stops it. */

/** Addresses of the namespace, every one with a listener behind it. */
export const FORBIDDEN_ADDRESSES = [
  '10.1.2.3',
  '172.16.5.4',
  '192.168.1.1',
  '100.64.0.1',
  '169.254.169.254',
  '192.0.0.8',
  '192.0.2.1',
  '192.88.99.1',
  '198.18.0.1',
  '198.51.100.1',
  '203.0.113.1',
  '240.0.0.1',
  'fd00::1',
  'fec0::1',
  '64:ff9b::7f00:1',
  '64:ff9b::a01:203',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:2::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '2002:a01:203::1',
  '3fff::1',
  '5f00::1',
] as const

/** Stands for a host on the internet; a server answers there. */
export const PUBLIC_ADDRESS = '203.0.114.10'
export const PUBLIC_ADDRESS_V6 = '2606:4700:10::1'

const words = (text: string): string[] => text.trim().split(/\s+/)

/** Loopback and "this host", in every base and length a parser may take. */
const THIS_HOST = words(`
  127.0.0.1 127.1 127.0.1 127.255.255.254 2130706433 0x7f000001 0x7f.0.0.1 0x7f.1 0X7F.0X1 017700000001 0177.0.0.1
  0177.1 00000177.0.0.1 127.0.0.01 0x0000007f.0x0.0x0.0x1 0 0.0.0.0 0x0 00 127.0.0.1. 0x7f.1.
  [::1] [0:0:0:0:0:0:0:1] [0000:0000:0000:0000:0000:0000:0000:0001] [::] [::0001]
`)

/** Private, shared, link-local, metadata and the other blocks without public hosts. */
const SPECIAL_IPV4 = words(`
  10.1.2.3 0xa.1.2.3 012.1.2.3 167838211 0xa010203 10.66051 172.16.5.4 192.168.1.1 0300.0250.1.1 3232235777 100.64.0.1
  169.254.169.254 2852039166 0xa9fea9fe 0251.0376.0251.0376 169.254.43518 169.16689662 192.0.0.8 192.0.2.1 192.88.99.1
  198.18.0.1 198.51.100.1 203.0.113.1 240.0.0.1 4026531841 255.255.255.255 224.0.0.1
`)

/** IPv4 inside IPv6, and IPv6 of its own. */
const SPECIAL_IPV6 = words(`
  [::ffff:127.0.0.1] [::ffff:7f00:1] [::FFFF:10.1.2.3] [0:0:0:0:0:ffff:7f00:0001] [::ffff:169.254.169.254]
  [::127.0.0.1] [::7f00:1] [::ffff:0:127.0.0.1] [::ffff:203.0.114.10] [64:ff9b::127.0.0.1] [64:ff9b::7f00:1]
  [64:ff9b::10.1.2.3] [64:ff9b:1::1] [100::1] [2001::1] [2001:0:7f00:1::] [2001:2::1] [2001:db8::1] [2002:7f00:1::1]
  [2002:a01:203::1] [2002:7f00:0001:0:0:0:0:1] [3fff::1] [5f00::1] [fd00::1] [FD00:0::1] [fec0::1] [fe80::1]
  [fe80::1%25lo] [fe80::1%lo] [::1%25lo] [ff02::1]
`)

/** Digits, dots and letters of other scripts, which a parser turns into ours, and characters it drops. */
const OTHER_SCRIPTS = words(`
  １２７.０.０.１ ①②⑦.⓪.⓪.① 127。0。0。1 127．0．0．1 127｡0｡0｡1 𝟏𝟐𝟕.𝟎.𝟎.𝟏 １０.１.２.３ 0ｘ7f.1 127%2e0%2e0%2e1
  %31%32%37.0.0.1 1\u00AD27.0.0.1 127.0.0.1\u200B [::ﬀﬀ:127.0.0.1] ｌｏｃａｌｈｏｓｔ
`)

const NAMES = words('localhost LOCALHOST LocalHost localhost. a.localhost ip6-localhost ip6-loopback')

/** Hosts as they might stand in a URL. */
export const SPELLINGS: readonly string[] = [...THIS_HOST, ...SPECIAL_IPV4, ...SPECIAL_IPV6, ...OTHER_SCRIPTS, ...NAMES]
