/** `cairn providers CID`: who holds an address, best first. */
import type { Hedge, RankedProvider } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { type Address, addressFromCid, parseAddress, spellCount } from '@cairn/wire'
import type { CommandContext, Run } from './command.ts'
import { withIndex } from './index-service.ts'
import { sameFlags } from './registry-words.ts'

const LIMIT_MAX = 32

export const providers: Run = async (context) => {
  const { given } = context
  const cid = parseCid(given.operands[0] ?? '')
  const limit = limitOf(context)
  const region = given.text('region')
  const options = { ...(limit === undefined ? {} : { limit }), ...(region === undefined ? {} : { region }) }
  return await withIndex(context, async ({ client, call }) => {
    const { providers: found, hedge } = await client.providers(cid, options, call())
    if (found.length === 0)
      throw new CairnError('NotFound', `Nobody is known to hold ${cid}.`, { code: 'no_providers' })
    const asked = hedge === undefined ? '' : `; ${sayHedge(hedge)}`
    return {
      result: { cid, providers: found.map(providerResult), hedge: hedge === undefined ? null : hedgeResult(hedge) },
      data: found.map((provider) => `${sayProvider(provider)}\n`).join(''),
      message: `${spellCount(found.length, 'provider')}, best first${asked}`,
      next: [`npx cairn get ${cid}${sameFlags(given)} -o FILE`],
    }
  })
}

/** `b3:…`, or the CID that the rest of the world knows it by. */
function parseCid(text: string): Address {
  return text.startsWith('b3:') || !text.startsWith('b') ? parseAddress(text) : addressFromCid(text)
}

function limitOf({ given }: CommandContext): number | undefined {
  const text = given.text('limit')
  if (text === undefined) return undefined
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= LIMIT_MAX) return limit
  throw new CairnError('Malformed', `--limit is a whole number from 1 to ${LIMIT_MAX}; not ${text}.`, { code: 'usage' })
}

/** One line: who, why there in the order, how long ago, and where. */
export function sayProvider({ id, http, region, class: why, score, lastSeenSeconds }: RankedProvider): string {
  const where = http.length === 0 ? 'no address known' : http.join(' ')
  const place = region === undefined ? '' : `  ${region}`
  return `${id}  ${why}  ${score.toFixed(2)}  ${lastSeenSeconds} s ago${place}  ${where}`
}

export function providerResult({ id, http, region, class: why, score, lastSeenSeconds }: RankedProvider) {
  return { id, http, region: region ?? null, class: why, score, last_seen_s: lastSeenSeconds }
}

function sayHedge({ alphaMs, betaMs, winner }: Hedge): string {
  if (betaMs === undefined) return `asked in one wave, ${alphaMs} ms`
  return `asked in two waves, ${alphaMs} and ${betaMs} ms, ${winner === 'tie' ? 'both in time' : `${winner} was first`}`
}

function hedgeResult({ alphaMs, betaMs, winner }: Hedge) {
  return { alpha_ms: alphaMs, beta_ms: betaMs ?? null, winner }
}
