/** A service's listener keys as listeners to open. */
import { readFile, stat } from 'node:fs/promises'
import { CairnError } from '@cairn/kernel'
import type { ListenConfig } from './config.ts'
import { parseBindAddress, type TlsFiles } from './listen-address.ts'
import type { ListenSpec } from './listener.ts'

/** The service's own address first. */
export async function listenSpecs(config: ListenConfig): Promise<readonly ListenSpec[]> {
  const { bind_addr, metrics_addr, uds, insecure_public: insecurePublic } = config
  const tls = await readTls(config.tls)
  const tcp = (text: string) => ({ kind: 'tcp', ...parseBindAddress(text), tls }) as const
  const specs: ListenSpec[] = [{ address: tcp(bind_addr), door: 'service', insecurePublic }]
  if (metrics_addr !== undefined) specs.push({ address: tcp(metrics_addr), door: 'metrics', insecurePublic })
  if (uds.path !== undefined) specs.push({ address: { kind: 'unix', path: uds.path }, door: 'service', insecurePublic })
  return specs
}

async function readTls({ cert_path, key_path }: ListenConfig['tls']): Promise<TlsFiles | undefined> {
  if (cert_path === undefined && key_path === undefined) return undefined
  if (cert_path === undefined || key_path === undefined)
    throw new CairnError('Malformed', 'TLS needs both tls.cert_path and tls.key_path.')
  const { mode } = await stat(key_path)
  if ((mode & 0o077) !== 0)
    throw new CairnError('RejectPolicy', `${key_path} can be read by others; close it to them (chmod 600).`)
  return { cert: await readFile(cert_path, 'utf8'), key: await readFile(key_path, 'utf8') }
}

/** The hosts of the addresses themselves: who asks for `10.0.0.7:7071` and reaches us there, means us. */
export function boundHosts(specs: readonly ListenSpec[]): string[] {
  return specs.flatMap(({ address }) => {
    if (address.kind === 'unix' || address.host === '0.0.0.0' || address.host === '::') return []
    return [address.host.includes(':') ? `[${address.host}]` : address.host]
  })
}
