/** The packs of an edge, as the command line administers them. */
import type { IncomingResponse } from '@cairn/transport'
import type { Address } from '@cairn/wire'
import type { CallContext, Caller } from './caller.ts'
import { address, amount, choice, type JsonFields, readNothing, readObject, rows, text } from './response-body.ts'

/** A pack that is served, and what the file is. */
interface MountedPack {
  readonly tag: 'mounted'
  readonly size: number
  readonly mediaType: string
  /** The extension of its tiles. */
  readonly tiles: string
  readonly minZoom: number
  readonly maxZoom: number
}

export interface EdgePack {
  readonly name: string
  readonly path: string
  /** Who named it. */
  readonly from: 'config' | 'added'
  /** Of the file that is served, or that it must be. */
  readonly b3: Address | undefined
  readonly state: MountedPack | { readonly tag: 'opening' } | { readonly tag: 'failed'; readonly why: string }
}

export interface EdgeClient {
  packs(context: CallContext): Promise<readonly EdgePack[]>
  /** Serves a file on the machine of the edge under this name, once it is verified. */
  addPack(name: string, path: string, b3: Address | undefined, context: CallContext): Promise<EdgePack>
  removePack(name: string, context: CallContext): Promise<void>
}

const ANSWER_BYTES_MAX = 4 * 1024 * 1024

/** The client over HTTP or in process: the caller's transport decides. */
export function edgeClient(caller: Caller): EdgeClient {
  const admin = { scope: 'edge:admin' } as const
  const naming = (operation: string, method: 'PUT' | 'DELETE', name: string) => {
    const path = `edge/admin/packs/${encodeURIComponent(name)}`
    return { ...admin, operation, method, path } as const
  }
  return {
    packs: async (context) => {
      const call = { ...admin, operation: 'packs', method: 'GET', path: 'edge/admin/packs', idempotent: true } as const
      return await caller.call({ ...call, read: readPacks }, context)
    },
    addPack: async (name, path, b3, context) => {
      const body = new TextEncoder().encode(JSON.stringify({ path, ...(b3 === undefined ? {} : { b3 }) }))
      const headers = { 'content-type': 'application/json' }
      const call = { ...naming('add_pack', 'PUT', name), idempotent: true, headers, body }
      return await caller.call({ ...call, read: readPack }, context)
    },
    // Not repeated: after one that went through unheard, a second would find nothing.
    removePack: async (name, context) => {
      await caller.call({ ...naming('remove_pack', 'DELETE', name), idempotent: false, read: readNothing }, context)
    },
  }
}

async function readPacks(response: IncomingResponse): Promise<readonly EdgePack[]> {
  return rows(await readObject(response, ANSWER_BYTES_MAX), 'packs').map(pack)
}

async function readPack(response: IncomingResponse): Promise<EdgePack> {
  return pack(await readObject(response, ANSWER_BYTES_MAX))
}

function pack(fields: JsonFields): EdgePack {
  return {
    name: text(fields, 'name'),
    path: text(fields, 'path'),
    from: choice(fields, 'from', ['config', 'added']),
    b3: fields['b3'] === null ? undefined : address(fields, 'b3'),
    state: state(fields),
  }
}

function state(fields: JsonFields): EdgePack['state'] {
  const tag = choice(fields, 'state', ['mounted', 'failed', 'opening'])
  switch (tag) {
    case 'opening':
      return { tag }
    case 'failed':
      return { tag, why: text(fields, 'why') }
    case 'mounted':
      return {
        tag,
        size: amount(fields, 'size'),
        mediaType: text(fields, 'media_type'),
        tiles: text(fields, 'tiles'),
        minZoom: amount(fields, 'min_zoom'),
        maxZoom: amount(fields, 'max_zoom'),
      }
  }
}
