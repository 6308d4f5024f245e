/**
 * Base URLs as the multiaddrs other software exchanges them in, and back.
 *
 *     https://storage.example.org   ⇄   /dns/storage.example.org/tcp/443/https
 *     http://192.0.2.7:7071         ⇄   /ip4/192.0.2.7/tcp/7071/http
 *
 * A multiaddr of this form has no path: a base that has one is known to cairn alone, through its record.
 */
import { parseIp } from '@cairn/wire'

const HTTP = /^\/(?:ip4|ip6|dns|dns4|dns6)\/([^/]{1,253})\/tcp\/([0-9]{1,5})\/(http|https|tls\/http)(?:\/p2p\/[^/]+)?$/

/** The URL behind a multiaddr; undefined if it is not one of HTTP. */
export function urlFromMultiaddr(text: string): string | undefined {
  const [, host = '', port = '', protocol] = HTTP.exec(text) ?? []
  if (protocol === undefined) return undefined
  const scheme = protocol === 'http' ? 'http' : 'https'
  const url = URL.parse(`${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`)
  return url === null || url.hostname === '' ? undefined : url.origin
}

/** The multiaddr of a base URL; undefined if the base has a path. */
export function multiaddrFromUrl(text: string): string | undefined {
  const url = URL.parse(text)
  if (url === null || url.pathname !== '/' || url.search !== '') return undefined
  const scheme = url.protocol === 'https:' ? 'https' : 'http'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const port = url.port === '' ? (scheme === 'https' ? '443' : '80') : url.port
  return `/${familyOf(host)}/${host}/tcp/${port}/${scheme}`
}

function familyOf(host: string): string {
  const address = parseIp(host)
  if (address === undefined) return 'dns'
  return address.length === 4 ? 'ip4' : 'ip6'
}
