/** Tile packs. */

import { textOf } from '@cairn/api'
import { type RouteTable, route } from '@cairn/http'
import { CairnError } from '@cairn/kernel'
import { z } from 'zod'
import { READ_ERRORS } from '../errors.ts'
import type { PackRequest } from '../packs/pack-answers.ts'
import type { EdgeParts } from '../parts.ts'
import { FILE_RESPONSES, hexAddress } from './content.ts'

const PACK_ERRORS = { ...READ_ERRORS, bad_pack: 502, decompress_cap: 502 } as const
const JSON_RESPONSES = {
  200: { description: 'The document.', mediaType: 'application/json' },
  304: { description: 'The client has it.' },
} as const

/** `name`, or `name@b3` for this file and no other. */
const packName = textOf(/^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:@(?:b3:)?[0-9a-f]{64})?$/, (text): PackRequest => {
  const mark = text.indexOf('@')
  if (mark === -1) return { name: text, address: undefined }
  return { name: text.slice(0, mark), address: hexAddress.parse(text.slice(mark + 1)) }
})

const zoomText = z.string().meta({ pattern: '^\\d{1,2}$' })
const tileText = z.string().meta({ pattern: '^\\d{1,10}$' })

const ZOOM_MAX = 30

export function packRoutes({ packs }: EdgeParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/edge/assets/p/:pack',
      lane: 'inline',
      summary: 'The pack as a file, with ranges.',
      params: z.strictObject({ pack: packName }),
      responses: FILE_RESPONSES,
      errors: PACK_ERRORS,
      handler: (context) => packs.file(context, context.params.pack),
    }),
    route({
      method: 'GET',
      path: '/edge/assets/p/:pack/tiles.json',
      lane: 'inline',
      summary: 'TileJSON 3 of the pack.',
      params: z.strictObject({ pack: packName }),
      responses: JSON_RESPONSES,
      errors: PACK_ERRORS,
      handler: (context) => packs.tileJson(context, context.params.pack, baseOf(context)),
    }),
    route({
      method: 'GET',
      path: '/edge/assets/p/:pack/metadata',
      lane: 'inline',
      summary: 'What the pack says about itself.',
      params: z.strictObject({ pack: packName }),
      responses: JSON_RESPONSES,
      errors: PACK_ERRORS,
      handler: (context) => packs.metadata(context, context.params.pack),
    }),
    route({
      method: 'GET',
      path: '/edge/assets/p/:pack/:z/:x/:y',
      lane: 'inline',
      summary: 'A tile, in XYZ numbering; an extension of `y` is for people.',
      params: z.strictObject({
        pack: packName,
        z: zoomText,
        x: tileText,
        y: z.string().meta({ pattern: '^\\d{1,10}(?:\\.[a-z0-9]+)?$' }),
      }),
      responses: { ...FILE_RESPONSES, 204: { description: 'The pack has no such tile.' } },
      errors: PACK_ERRORS,
      handler: (context) => {
        const { pack, z: zoom, x, y } = context.params
        return packs.tile(context, pack, placeOf(zoom, x, y))
      },
    }),
  ]
}

/** Where the tiles of the pack are, as the client reached us. */
function baseOf({
  path,
  headers,
  peer,
}: {
  path: string
  headers: { slot(name: 'host'): string | undefined }
  peer: { kind: string }
}): string {
  const scheme = peer.kind === 'tls' ? 'https' : 'http'
  return `${scheme}://${headers.slot('host') ?? 'localhost'}${path.slice(0, path.lastIndexOf('/'))}`
}

function placeOf(z: string, x: string, y: string): { readonly z: number; readonly x: number; readonly y: number } {
  const plain = y.replace(/\.[a-z0-9]{1,5}$/i, '')
  const numbers = [z, x, plain].map((text) => (/^\d{1,10}$/.test(text) ? Number(text) : Number.NaN))
  const [zoom = Number.NaN, column = Number.NaN, row = Number.NaN] = numbers
  const side = 2 ** zoom
  if (!(zoom <= ZOOM_MAX && column < side && row < side))
    throw new CairnError('Malformed', 'A tile is /z/x/y with whole numbers, x and y below 2 to the power of z.')
  return { z: zoom, x: column, y: row }
}
