/** `cairn pack add|ls|rm`: tile packs that an edge serves. */
import { resolve } from 'node:path'
import type { EdgePack } from '@cairn/clients'
import { type Address, parseAddress, spellBytes, spellCount } from '@cairn/wire'
import type { Run } from './command.ts'
import { withEdge } from './edge-service.ts'
import { statOf } from './local-files.ts'
import { sameFlags } from './registry-words.ts'

/** The edge reads the whole file before it answers. */
const OPEN_MS = 120_000

/** Serves a file under a name, once the edge has verified it. Standard output is its address. */
export const add: Run = async (context) => {
  const { given } = context
  const [name = '', file = ''] = given.operands
  const b3 = addressOf(given.text('b3'))
  const path = resolve(file)
  // Another machine has files of its own.
  if (!given.has('node')) await statOf(path)
  return await withEdge(context, async ({ client, call, url }) => {
    const pack = await client.addPack(name, path, b3, call(OPEN_MS))
    const tiles = new URL(`edge/assets/p/${encodeURIComponent(name)}/tiles.json`, url).href
    return {
      result: { ...resultOf(pack), tile_json: tiles },
      data: `${pack.b3 ?? ''}\n`,
      message: `${name} is served, now and after restarts: ${sayState(pack)}\n  ${tiles}`,
      next: [`npx cairn pack ls${sameFlags(given)}`],
    }
  })
}

export const ls: Run = async (context) =>
  await withEdge(context, async ({ client, call }) => {
    const packs = await client.packs(call())
    const failed = packs.filter(({ state }) => state.tag === 'failed')
    return {
      result: { packs: packs.map(resultOf) },
      data: packs.map((pack) => `${sayPack(pack)}\n`).join(''),
      message: `${spellCount(packs.length, 'pack')}${failed.length === 0 ? '' : `, ${failed.length} not served`}`,
      warnings: failed.map(({ name, state }) => `${name} is not served: ${state.tag === 'failed' ? state.why : ''}`),
      next:
        packs.length === 0
          ? [`npx cairn pack add NAME FILE${sameFlags(context.given)}`]
          : failed.map(({ path }) => `npx cairn pack verify ${path}`),
    }
  })

export const rm: Run = async (context) => {
  const name = context.given.operands[0] ?? ''
  await withEdge(context, async ({ client, call }) => await client.removePack(name, call()))
  return { result: { name }, message: `${name} is not served any more; its file stays where it is` }
}

export function addressOf(text: string | undefined): Address | undefined {
  return text === undefined ? undefined : parseAddress(text)
}

function sayPack(pack: EdgePack): string {
  const { name, from, path, b3, state } = pack
  return [name, state.tag, from, b3 ?? '-', sayState(pack), path].join('  ')
}

function sayState({ state }: EdgePack): string {
  if (state.tag !== 'mounted') return '-'
  const { tiles, minZoom, maxZoom, size } = state
  return `${tiles} ${minZoom}-${maxZoom} ${spellBytes(size)}`
}

function resultOf({ name, path, from, b3, state }: EdgePack) {
  const common = { name, path, from, b3: b3 ?? null, state: state.tag }
  if (state.tag === 'opening') return common
  if (state.tag === 'failed') return { ...common, why: state.why }
  const { size, mediaType, tiles, minZoom, maxZoom } = state
  return { ...common, size, media_type: mediaType, tiles, min_zoom: minZoom, max_zoom: maxZoom }
}
