/** Coded bodies, opened under guard: a kilobyte that claims to be a gigabyte is refused before it is one. */
import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { CairnError, isKind } from '@cairn/kernel'

export type Coding = 'gzip' | 'br' | 'zstd'

/** What we take, in the words of `Accept-Encoding`. */
export const CODINGS: readonly Coding[] = ['gzip', 'br', 'zstd']

/** The codings' decoder: `bytes` opened to at most `bytesMax`, or an error. */
export type Inflate = (coding: Coding, bytes: Uint8Array, bytesMax: number) => Promise<Uint8Array>

/** A frame may ask for a window far larger than its content; 8 MiB is what every decoder is expected to allow. */
const ZSTD = { params: { [zlib.constants.ZSTD_d_windowLogMax]: 23 } }

const ASYNC = {
  gzip: promisify<zlib.InputType, zlib.ZlibOptions, Buffer>(zlib.gunzip),
  br: promisify<zlib.InputType, zlib.BrotliOptions, Buffer>(zlib.brotliDecompress),
  zstd: promisify<zlib.InputType, zlib.ZstdOptions, Buffer>(zlib.zstdDecompress),
} as const

/** Off the event loop. */
export const threadInflate: Inflate = async (coding, bytes, bytesMax) => {
  const options = { maxOutputLength: bytesMax }
  return await (coding === 'zstd' ? ASYNC.zstd(bytes, { ...ZSTD, ...options }) : ASYNC[coding](bytes, options))
}

/** On the event loop, for the simulator, where no thread may decide the order of events. */
export const inlineInflate: Inflate = async (coding, bytes, bytesMax) => {
  const options = { maxOutputLength: bytesMax }
  await Promise.resolve()
  if (coding === 'zstd') return zlib.zstdDecompressSync(bytes, { ...ZSTD, ...options })
  return coding === 'gzip' ? zlib.gunzipSync(bytes, options) : zlib.brotliDecompressSync(bytes, options)
}

export interface InflateLimits {
  readonly ratioMax: number
  readonly bytesMax: number
  /** Up to this much output the ratio is not judged; requests of clients have no such allowance. */
  readonly freeBytes?: number
}

/** The most a coded body of this many bytes may decode to. */
export function decodedBytesMax(codedBytes: number, { ratioMax, bytesMax, freeBytes = 0 }: InflateLimits): number {
  return Math.min(Math.max(freeBytes, ratioMax * codedBytes), bytesMax)
}

/** `TooLarge` past either limit, `Malformed` when the bytes are not what they claim to be. */
export async function openCoded(
  inflate: Inflate,
  coding: Coding,
  bytes: Uint8Array,
  limits: InflateLimits,
): Promise<Uint8Array> {
  const limit = decodedBytesMax(bytes.length, limits)
  try {
    return await inflate(coding, bytes, limit)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if ('code' in error && error.code === 'ERR_BUFFER_TOO_LARGE')
      throw new CairnError('TooLarge', `Decoded, the body is larger than ${limit} bytes; send it without coding.`, {
        code: limit === limits.bytesMax ? 'decompress_cap' : 'ratio_cap',
        cause: error,
      })
    const detail = `The body is not valid ${coding}, although Content-Encoding says so.`
    throw new CairnError('Malformed', detail, { code: 'bad_coding', cause: error })
  }
}

/** Why `openCoded` refused, for the metric. */
export function refusalReason(error: unknown): 'cap' | 'truncated' | 'format' {
  if (isKind(error, 'TooLarge')) return 'cap'
  const cause = error instanceof CairnError ? error.cause : undefined
  // What every decoder says of bytes that end before they should.
  return cause instanceof Error && 'code' in cause && cause.code === 'Z_BUF_ERROR' ? 'truncated' : 'format'
}

/** The coding of a body, nothing for none; more than one, or one we do not take, is 415. */
export function codingOf(contentEncoding: string | undefined): Coding | undefined {
  const name = contentEncoding?.trim().toLowerCase() ?? 'identity'
  if (name === 'identity' || name === '') return undefined
  const known = CODINGS.find((coding) => coding === name)
  if (known !== undefined) return known
  throw new CairnError('Malformed', `Content-Encoding must be one of ${CODINGS.join(', ')}, or absent.`, {
    code: 'unsupported_coding',
    status: 415,
  })
}
