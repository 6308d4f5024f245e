/** A PNG of one colour: header, pixels, end. */
import { crc32, deflateSync } from 'node:zlib'

export type Colour = readonly [red: number, green: number, blue: number]

const SIDE = 256
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const RGB_8_BITS = [8, 2, 0, 0, 0]

function section(type: string, body: Uint8Array): Buffer {
  const named = Buffer.concat([Buffer.from(type), body])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(body.length)
  sum.writeUInt32BE(crc32(named))
  return Buffer.concat([length, named, sum])
}

export function colourTile(colour: Colour): Buffer {
  const head = Buffer.alloc(8)
  head.writeUInt32BE(SIDE, 0)
  head.writeUInt32BE(SIDE, 4)
  // Every row begins with the number of its filter: none.
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(SIDE * 3, Buffer.from(colour))])
  const pixels = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => row)))
  const header = section('IHDR', Buffer.concat([head, Buffer.from(RGB_8_BITS)]))
  return Buffer.concat([SIGNATURE, header, section('IDAT', pixels), section('IEND', Buffer.alloc(0))])
}
