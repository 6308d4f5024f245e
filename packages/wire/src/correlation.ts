/** Correlation ids: ours are ULIDs; a caller's may be a ULID or a UUID and is passed on as it came. */
import { CairnError } from '@cairn/kernel'

/** Crockford's base 32: no I, L, O or U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const TIME_DIGITS = 10
const RANDOM_BYTES = 10

/** The ULID of a time and 10 random bytes: 26 characters whose order is that of time. */
export function createUlid(timeMs: number, random: Uint8Array): string {
  if (!Number.isSafeInteger(timeMs) || timeMs < 0 || timeMs >= 2 ** 48 || random.length !== RANDOM_BYTES) {
    throw new CairnError('Malformed', `A ULID takes a time below 2^48 ms and ${RANDOM_BYTES} random bytes.`)
  }
  let time = ''
  for (let rest = timeMs; time.length < TIME_DIGITS; rest = Math.floor(rest / 32))
    time = ALPHABET.charAt(rest % 32) + time
  return time + base32(random.subarray(0, 5)) + base32(random.subarray(5))
}

/** Five bytes are exactly eight digits. */
function base32(bytes: Uint8Array): string {
  let value = bytes.reduce((sum, byte) => sum * 256 + byte, 0)
  let digits = ''
  for (; digits.length < 8; value = Math.floor(value / 32)) digits = ALPHABET.charAt(value % 32) + digits
  return digits
}

const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Whether a caller's id may be used as it is. */
export function isCorrelationId(text: string): boolean {
  return ULID.test(text) || UUID.test(text)
}
