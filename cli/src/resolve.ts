/** `cairn resolve KEY`: what a name or an address means, who holds it, and the proof of it. */
import type { Hedge, ProviderSet, RankedProvider, Resolution } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import { type Pin, type Proof, parseName, parseProof } from '@cairn/names'
import { parseCheckpoint, parseNote } from '@cairn/tlog'
import { type Address, addressFromCid, parseAddress, spellCount } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { mustBeNew, writeFileWhole } from './local-files.ts'
import { connectionFlags, formatRows } from './registry-format.ts'
import { readPin } from './registry-pins.ts'
import { type IndexConnection, withIndex } from './service-client.ts'

// `cairn providers CID`: who holds an address, best first.

const LIMIT_MAX = 32

export const providers: CommandHandler = async (context) => {
  const { given } = context
  const cid = parseCid(given.operands[0] ?? '')
  const limit = limitOf(context)
  const region = given.text('region')
  const options = { ...(limit === undefined ? {} : { limit }), ...(region === undefined ? {} : { region }) }
  return await withIndex(context, async ({ client, call }) => {
    const { providers: found, hedge } = await client.providers(cid, options, call())
    if (found.length === 0)
      throw new CairnError('NotFound', `No provider of ${cid} was found.`, { code: 'no_providers' })
    const asked = hedge === undefined ? '' : `; ${formatHedge(hedge)}`
    return {
      result: { cid, providers: found.map(providerResult), hedge: hedge === undefined ? null : hedgeResult(hedge) },
      data: found.map((provider) => `${formatProvider(provider)}\n`).join(''),
      message: `${spellCount(found.length, 'provider')}, best first${asked}`,
      next: [`npx cairn get ${cid}${connectionFlags(given)} -o FILE`],
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
export function formatProvider({ id, http, region, class: why, score, lastSeenSeconds }: RankedProvider): string {
  const where = http.length === 0 ? 'no address known' : http.join(' ')
  const place = region === undefined ? '' : `  ${region}`
  return `${id}  ${why}  ${score.toFixed(2)}  ${lastSeenSeconds} s ago${place}  ${where}`
}

export function providerResult({ id, http, region, class: why, score, lastSeenSeconds }: RankedProvider) {
  return { id, http, region: region ?? null, class: why, score, last_seen_s: lastSeenSeconds }
}

function formatHedge({ alphaMs, betaMs, winner }: Hedge): string {
  if (betaMs === undefined) return `asked in one wave, ${alphaMs} ms`
  return `asked in two waves, ${alphaMs} and ${betaMs} ms, ${winner === 'tie' ? 'both in time' : `${winner} was first`}`
}

function hedgeResult({ alphaMs, betaMs, winner }: Hedge) {
  return { alpha_ms: alphaMs, beta_ms: betaMs ?? null, winner }
}

const NAME_PREFIX = 'name:'

export const resolve: CommandHandler = async (context) => {
  const { given } = context
  const key = parseKey(given.operands[0] ?? '')
  const proofPath = given.text('proof')
  if (proofPath !== undefined) await mayProve(key, proofPath)
  return await withIndex(context, async (index) => {
    const found = await index.client.resolve(key, { fresh: given.has('fresh') }, index.call())
    if (found === undefined) throw unknown(key)
    if (proofPath !== undefined) await writeFileWhole(proofPath, [await proofFor(context, index, found)])
    const { providers, warnings } = await providersOf(index, found)
    return { ...outcomeOf(context, found, providers, proofPath), warnings }
  })
}

/** As the index wants it; whoever left the prefix out is told what was meant. */
function parseKey(text: string): string {
  if (text.startsWith(NAME_PREFIX)) return `${NAME_PREFIX}${parseName(text.slice(NAME_PREFIX.length))}`
  if (text.startsWith('b3:')) return parseAddress(text)
  const meant = text.includes('@') ? `; did you mean ${NAME_PREFIX}${text}?` : '.'
  throw new CairnError('Malformed', `A key is name:… or b3:…, not ${text}${meant}`, { code: 'usage' })
}

/** Before anything is asked: a file that is there stays, and an address needs no proof. */
async function mayProve(key: string, path: string): Promise<void> {
  if (!key.startsWith(NAME_PREFIX)) {
    const detail = 'An address proves itself: hash the bytes. Only names have proofs.'
    throw new CairnError('Malformed', detail, { code: 'usage' })
  }
  await mustBeNew(path)
}

/** The proof, so that it continues what this user has seen of the log before. */
async function proofFor({ terminal }: CommandContext, index: IndexConnection, found: Resolution): Promise<Uint8Array> {
  const bytes = proofOf(found)
  const proof = parseProof(bytes)
  const { origin, size } = parseCheckpoint(parseNote(proof.checkpoint).text)
  const pin = await readPin(terminal.environment, origin)
  if (pin === undefined || isContinuation(proof, size, pin)) return bytes
  const again = await index.client.resolve(found.key, { fresh: true, from: pin.size }, index.call())
  return again === undefined ? bytes : proofOf(again)
}

function proofOf({ key, proof }: Resolution): Uint8Array {
  if (proof !== undefined) return proof
  const detail = `The index knows ${key} from itself alone, not from a registry: nothing proves it.`
  throw new CairnError('NotFound', detail, { code: 'no_proof' })
}

/** Of a log that shows less than before, no proof will do; that is for `verify-proof` to say. */
function isContinuation({ consistency }: Proof, size: number, pin: Pin): boolean {
  return size <= pin.size || consistency?.from === pin.size
}

interface Holders {
  /** Undefined where nobody could say. */
  readonly providers: ProviderSet['providers'] | undefined
  readonly warnings: readonly string[]
}

/** What the key means is known already: who holds it is said if it can be. */
async function providersOf({ client, call }: IndexConnection, { manifest }: Resolution): Promise<Holders> {
  try {
    return { providers: (await client.providers(manifest, {}, call())).providers, warnings: [] }
  } catch (error) {
    if (!(error instanceof CairnError) || error.kind === 'Canceled') throw error
    return { providers: undefined, warnings: [`Who holds it is not known now: ${error.message}`] }
  }
}

function outcomeOf(
  { given }: CommandContext,
  found: Resolution,
  providers: Holders['providers'],
  proofPath: string | undefined,
): CommandOutcome {
  const { key, kind, manifest, source, freshnessSeconds, proof } = found
  const holders = providers === undefined || providers.length === 0 ? ['none known'] : providers.map(formatProvider)
  const hasProof = proof !== undefined
  const unproved = hasProof ? 'as the index says; nothing of it is proved here' : undefined
  const message = proofPath === undefined ? unproved : `its proof is in ${proofPath}`
  return {
    result: {
      key,
      kind,
      manifest,
      source,
      freshness_s: freshnessSeconds,
      providers: providers?.map(providerResult) ?? null,
      proof: proofPath ?? null,
    },
    data: formatRows([
      ['key', key],
      ['manifest', manifest],
      ['source', `${source}, ${spellCount(freshnessSeconds, 'second')} old`],
      ['providers', holders],
    ]),
    ...(message === undefined ? {} : { message }),
    next:
      proofPath !== undefined
        ? [`npx cairn verify-proof ${proofPath} --trust FILE`]
        : hasProof
          ? [`npx cairn resolve ${key}${connectionFlags(given)} --proof FILE`]
          : [`npx cairn get ${manifest}${connectionFlags(given)} -o FILE`],
  }
}

function unknown(key: string): CairnError {
  return key.startsWith(NAME_PREFIX)
    ? new CairnError('NotFound', `${key} was not found.`, { code: 'no_name' })
    : new CairnError('NotFound', `No provider of ${key} was found.`, { code: 'no_providers' })
}
