import { ingressSection, listenKeys } from '@cairn/http'
import { byteSize, duration, section, setting } from '@cairn/platform'
import { parseVerifierKey } from '@cairn/tlog'
import { z } from 'zod'

export const REGISTRY_PORT_OFFSET = 3

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const MEBIBYTE = 1024 * 1024

function isCosignerKey(text: string): boolean {
  try {
    return parseVerifierKey(text).type !== 'ed25519'
  } catch {
    return false
  }
}

/** `[registry]`. There is no key for signers or quorum: they are in the log, and only the log changes them. */
export const registrySection = section({
  ...listenKeys(7070 + REGISTRY_PORT_OFFSET),
  ingress: ingressSection(),
  drain_deadline: setting(duration({ min: 1000, max: 5000 }), {
    default: '3s',
    reload: 'restart',
    does: 'How long accepted work may take to finish on shutdown.',
  }),
  drive_timeout: setting(duration({ min: 100 }), {
    default: '5s',
    reload: 'restart',
    does: 'One operation of the drive; a drive that takes longer counts as stalled.',
  }),
  checkpoint_interval: setting(duration({ min: MINUTE_MS }), {
    default: '10m',
    reload: 'restart',
    does: 'Time between two checkpoints that are anchors for retention; one with a fresh time is signed at least every minute.',
    designName: 'storage.checkpoint_interval',
  }),
  pq: section({
    mode: setting(z.enum(['off', 'hybrid']), {
      default: 'off',
      reload: 'restart',
      does: 'With `hybrid` a key of its own signs every checkpoint once more, by ML-DSA-44. Readers ask for it once their trust file lists it.',
    }),
  }),
  witness_keys: setting(z.array(z.string().refine(isCosignerKey, 'must be the verifier key of a cosigner')), {
    default: [],
    reload: 'live',
    does: 'Cosigners whose signatures may be put under the published checkpoint, as `name+id+key`. Whom to believe is for readers to say.',
  }),
  bootstrap: section({
    origin: setting(z.string().regex(/^[a-z0-9][a-z0-9.-]*(?:\/[a-z0-9._-]+)*$/, 'must be a host and a path'), {
      default: 'cairn.local/registry',
      reload: 'restart',
      does: 'What the log is called when it begins; 16 digits of its genesis are added. A log keeps its origin.',
    }),
    trust_roots_path: setting(z.string().min(1), {
      reload: 'restart',
      does: 'The first signer set (JSON). Without it an empty registry on loopback makes a signer of its own.',
    }),
    trust_roots_hash: setting(z.string().regex(/^b3:[0-9a-f]{64}$/, 'must be b3: and 64 hexadecimal digits'), {
      reload: 'restart',
      does: 'The BLAKE3 of that file; another file, or a log that began with another set, is refused.',
    }),
  }),
  retention: section({
    policy: setting(z.enum(['off', 'by-age', 'by-count', 'by-size']), {
      default: 'off',
      reload: 'live',
      does: 'Which old entries may go once a checkpoint covers them. What is alive and every signer set stay.',
    }),
    max_age: setting(duration({ min: HOUR_MS }), {
      default: '30d',
      reload: 'live',
      does: 'With `by-age`: entries older than this go.',
    }),
    max_count: setting(z.number().int().min(100), {
      default: 10_000,
      reload: 'live',
      does: 'With `by-count`: the newest entries that stay.',
    }),
    target_bytes: setting(byteSize({ min: 32 * MEBIBYTE }), {
      default: '1GiB',
      reload: 'live',
      does: 'With `by-size`: how large the log may be.',
    }),
  }),
  limits: section({
    audit_heads_per_minute: setting(z.number().int().min(1), {
      default: 60,
      reload: 'live',
      does: 'Audit heads one token may append in a minute.',
    }),
  }),
})

export type RegistryConfig = z.output<typeof registrySection>
