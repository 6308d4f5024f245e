/** Objects to put: the same name always has the same bytes. */
import { SeededRandom } from '@cairn/kernel/testing'
import { type Address, addressOf, encodeManifest, ManifestBuilder } from '@cairn/wire'

const CHUNK_BYTES = 64 * 1024

/** `small` and `medium` are one chunk; a `large` one shares its first chunk with every other. */
const KINDS = {
  small: { bytesMin: 200, bytesMax: 5_000 },
  medium: { bytesMin: 20_000, bytesMax: 60_000 },
  large: { bytesMin: 70_000, bytesMax: 250_000 },
} as const

type ThingKind = keyof typeof KINDS
export const THING_KINDS: readonly ThingKind[] = ['small', 'medium', 'large']

export interface Thing {
  readonly name: string
  readonly id: Address
  readonly bytes: Uint8Array
  readonly chunks: readonly { readonly id: Address; readonly bytes: Uint8Array }[]
  /** Absent for an object of one chunk. */
  readonly manifest: Uint8Array | undefined
}

export function makeThing(kind: ThingKind, rest: string): Thing {
  const name = `${kind} ${rest}`
  const random = new SeededRandom(seedOf(name))
  const { bytesMin, bytesMax } = KINDS[kind]
  const own = random.bytes(bytesMin + Math.floor(random.next() * (bytesMax - bytesMin)))
  const bytes = kind === 'large' ? Buffer.concat([SHARED, own]) : own
  const builder = new ManifestBuilder(CHUNK_BYTES)
  const chunks = []
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) {
    const slice = bytes.subarray(at, at + CHUNK_BYTES)
    builder.add(slice)
    chunks.push({ id: addressOf(slice), bytes: slice })
  }
  const built = builder.finish()
  const manifest = built.kind === 'chunked' ? encodeManifest(built.manifest) : undefined
  return { name, id: built.id, bytes, chunks, manifest }
}

const SHARED = new SeededRandom(1).bytes(CHUNK_BYTES)

function seedOf(name: string): number {
  let seed = 7
  for (const letter of name) seed = (seed * 33 + letter.charCodeAt(0)) | 0
  return seed
}
