/** One life of a registry on any machine, the whole service but its sockets; asked through its ingress. */

import { capabilityAuthorizer, type RunningService } from '@cairn/http'
import { Config } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { inlineInflate } from '@cairn/platform/testing'
import type { IngressResponse } from '@cairn/transport'
import { isStream } from '@cairn/transport'
import { canonicalJson, createKeyring, deriveKeyring, mintAdminToken } from '@cairn/wire'
import { type RegistryConfig, registrySection } from '../../../services/registry/src/config.ts'
import type { CrashPointHook } from '../../../services/registry/src/domain/crash-points.ts'
import type { RegistryHost } from '../../../services/registry/src/main.ts'
import type { RegistryParts } from '../../../services/registry/src/parts.ts'
import { writeWhole } from './files.ts'
import type { RegistryModule } from './registry-module.ts'
import { ROOTS } from './registry-signers.ts'

export interface LifeOptions {
  readonly registry: RegistryModule
  readonly platform: Platform
  /** Holds the registry's directory and the file of its first signers. */
  readonly data: string
  /** Told of every root that a key of the log signs. */
  readonly onSigned: (size: number, root: string) => void
  readonly reach?: CrashPointHook
  readonly overrides?: Partial<RegistryConfig>
}

export interface Answer {
  readonly status: number
  /** The code of a problem; empty if it is none. */
  readonly code: string
  readonly body: Buffer
  // The caller knows what it asked for.
  json(): unknown
}

/** Small enough that a campaign sees many segments come and go. */
const SEGMENT_BYTES = 24 * 1024
const KEYRING = deriveKeyring(createKeyring('k1', new Uint8Array(32).fill(7)), 'registry')
const TOKEN = mintAdminToken(KEYRING, { tid: new Uint8Array(16).fill(9), aud: 'registry' })

export function directoryIn(data: string): string {
  return `${data}/registry`
}

export class RegistryLife {
  readonly parts: RegistryParts
  readonly #running: RunningService<RegistryConfig>

  private constructor(parts: RegistryParts, running: RunningService<RegistryConfig>) {
    this.parts = parts
    this.#running = running
  }

  static async open({ registry, platform, data, onSigned, reach, overrides }: LifeOptions): Promise<RegistryLife> {
    const rootsPath = `${data}/roots.json`
    await writeWhole(platform.disk, rootsPath, canonicalJson(ROOTS))
    const values = registrySection.parse({
      bootstrap: { trust_roots_path: rootsPath },
      limits: { audit_heads_per_minute: 1_000_000 },
    })
    const host: RegistryHost = {
      platform: { ...platform, crypto: watchSignatures(platform.crypto, onSigned) },
      config: new Config<RegistryConfig>({ values: { ...values, ...overrides }, origins: {} }),
      directory: directoryIn(data),
      authorizer: capabilityAuthorizer(platform.clock, () => ({ keyring: KEYRING, isRevoked: () => false })),
      version: { service: 'registry' },
      metricsText: async () => await Promise.resolve(''),
      onFatal: (task) => {
        throw new Error(`${task} failed too often.`)
      },
      // Nobody comes in by a socket.
      listen: async ({ address }) =>
        await Promise.resolve({
          address,
          url: '',
          openConnections: 0,
          reconfigure: () => undefined,
          renewTls: () => undefined,
          leave: async () => await Promise.resolve(),
          close: async () => await Promise.resolve(),
        }),
      inflate: inlineInflate,
      segmentBytes: SEGMENT_BYTES,
      ...(reach === undefined ? {} : { reach }),
    }
    const parts = await registry.openParts(host)
    const { running } = await registry.runParts(host, parts)
    return new RegistryLife(parts, running)
  }

  async ask(method: 'GET' | 'POST', target: string, body?: object): Promise<Answer> {
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
    const sent = bytes === undefined ? [] : ['content-type', 'application/json', 'content-length', String(bytes.length)]
    const response = await this.#running.ingress.handle({
      method,
      target,
      headers: ['host', 'localhost', 'authorization', `Bearer ${TOKEN}`, ...sent],
      body: bytes === undefined ? undefined : once(bytes),
      peer: { address: '127.0.0.1', kind: 'tcp' },
      listenerKind: 'service',
      crowded: false,
      signal: new AbortController().signal,
    })
    return await readAnswer(response)
  }

  async stop(): Promise<void> {
    const { aborted, abandoned } = await this.#running.stop()
    const left = [...aborted, ...abandoned]
    if (left.length > 0) throw new Error(`These did not end: ${left.join(', ')}.`)
  }
}

/** A checkpoint is signed as it is, and again as what its cosigner saw. */
const CHECKPOINT = /^(?:cosignature\/v1\ntime \d+\n)?[^\n]+\n(\d+)\n([A-Za-z0-9+/=]+)\n$/

function watchSignatures(crypto: Platform['crypto'], onSigned: LifeOptions['onSigned']): Platform['crypto'] {
  return {
    ...crypto,
    ed25519Signer: (seed) => {
      const sign = crypto.ed25519Signer(seed)
      return (message) => {
        const [, size, root] = CHECKPOINT.exec(new TextDecoder().decode(message)) ?? []
        if (root !== undefined) onSigned(Number(size), root)
        return sign(message)
      }
    },
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}

async function readAnswer({ status, headers, body, held }: IngressResponse): Promise<Answer> {
  const pieces: Uint8Array[] = []
  if (isStream(body)) for await (const piece of body) pieces.push(piece)
  else if (body !== undefined) pieces.push(typeof body === 'string' ? Buffer.from(body) : body)
  held?.[Symbol.dispose]()
  const bytes = Buffer.concat(pieces)
  const type = headers.findIndex((name, at) => at % 2 === 0 && name.toLowerCase() === 'content-type')
  const json = (): unknown => JSON.parse(bytes.toString())
  const code = headers[type + 1] === 'application/problem+json' ? (json() as { code: string }).code : ''
  return { status, code, body: bytes, json }
}
