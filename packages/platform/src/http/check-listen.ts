/** What opening the listeners of a service would refuse, without opening any. */
import { createSecureContext } from 'node:tls'
import { CairnError } from '@cairn/kernel'
import type { ListenConfig } from './config.ts'
import { refuseInsecurePublic } from './listen-address.ts'
import { listenSpecs } from './listen-config.ts'

/** Throws what the start would: an address beyond this machine without TLS, a certificate or key that cannot be used. */
export async function checkListen(config: ListenConfig): Promise<void> {
  for (const { address, insecurePublic } of await listenSpecs(config)) {
    refuseInsecurePublic(address, insecurePublic)
    if (address.kind === 'unix' || address.tls === undefined) continue
    try {
      createSecureContext(address.tls)
    } catch (cause) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw new CairnError('Malformed', `tls.cert_path and tls.key_path cannot be used: ${why}.`, {
        code: 'config',
        cause,
      })
    }
  }
}
