import { generateKeyPairSync, sign } from 'node:crypto'

export interface SelfSigned {
  readonly key: string
  readonly cert: string
}

/** Makes a self-signed certificate for these names and IPv4 addresses; a client that lists it as `ca` trusts it. */
export function selfSigned(names: readonly string[], addresses: readonly string[] = []): SelfSigned {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const ed25519 = sequence(hex('06032b6570'))
  const name = sequence(set(sequence(hex('0603550403'), element(0x0c, Buffer.from('cairn test')))))
  const validity = sequence(element(0x17, Buffer.from('200101000000Z')), element(0x17, Buffer.from('491231235959Z')))
  const alternatives = sequence(
    ...names.map((host) => element(0x82, Buffer.from(host))),
    ...addresses.map((address) => element(0x87, Buffer.from(address.split('.').map(Number)))),
  )
  const extensions = element(0xa3, sequence(sequence(hex('0603551d11'), element(0x04, alternatives))))
  const version = element(0xa0, hex('020102'))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const body = sequence(version, hex('020101'), ed25519, name, validity, name, spki, extensions)
  const signature = element(0x03, Buffer.concat([Buffer.of(0), sign(null, body, privateKey)]))
  const certificate = sequence(body, ed25519, signature)
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }), cert: pem(certificate) }
}

/** One DER element: tag, length, content. */
function element(tag: number, ...content: readonly Uint8Array[]): Buffer {
  const body = Buffer.concat(content)
  const length = body.length < 128 ? [body.length] : [0x82, body.length >> 8, body.length & 0xff]
  return Buffer.concat([Buffer.of(tag, ...length), body])
}

const sequence = (...content: readonly Uint8Array[]): Buffer => element(0x30, ...content)
const set = (...content: readonly Uint8Array[]): Buffer => element(0x31, ...content)
const hex = (text: string): Buffer => Buffer.from(text, 'hex')

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? []
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
