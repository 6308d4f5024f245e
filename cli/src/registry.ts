/** `cairn registry signers|rotate|trust`: who signs, how that changes, and whom to believe. */
import { CairnError } from '@cairn/kernel'
import {
  encodeTrust,
  newSigners,
  parsePayload,
  parseProof,
  parseTrustRoots,
  type SignerSet,
  type SignerSetItem,
  signerSetHash,
  signerSetOf,
} from '@cairn/names'
import { formatVerifierKey } from '@cairn/tlog'
import type { CommandHandler } from './command.ts'
import { mustBeNew, readWhole, writeFileWhole } from './local-files.ts'
import { connectionFlags } from './registry-format.ts'
import { propose } from './registry-proposal.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'

/** The signer set in force, as a file that can be edited and given to `registry rotate`. */
export const signers: CommandHandler = async (context) =>
  await withRegistry(context, async (registry) => {
    const { version, item } = await signerSetInForce(registry)
    const { m, signers: listed } = item
    const lines = listed.map((signer) => `    ${JSON.stringify(signer)}`)
    return {
      result: { version, m, signers: listed, hash: signerSetHash(item) },
      data: `{\n  "m": ${m},\n  "signers": [\n${lines.join(',\n')}\n  ]\n}\n`,
      message: `${m} of ${listed.length} must approve; in force since version ${version}`,
      next: [`npx cairn registry rotate FILE${connectionFlags(context.given)}`],
    }
  })

/** Proposes another signer set. The signers in force decide; each new key signs as well, to show that somebody has it. */
export const rotate: CommandHandler = async (context) => {
  const path = context.given.operands[0] ?? ''
  const next = parseTrustRoots(await readWhole(path))
  const note = context.given.text('note')
  return await withRegistry(context, async (registry) => {
    const { item: current } = await signerSetInForce(registry)
    const { m, signers: listed } = next
    const item: SignerSetItem = { kind: 'signer_set', id: 'root', prev: signerSetHash(current), m, signers: listed }
    const payload = parsePayload({ items: [item], ...(note === undefined ? {} : { note }) })
    const outcome = await propose(context, registry, payload)
    return { ...outcome, warnings: warningsOf(current, next) }
  })
}

/** What is easily overlooked in a change of signers. */
function warningsOf(current: SignerSet, next: SignerSet): string[] {
  const gone = newSigners(next, current).map(({ id }) => id)
  const added = newSigners(current, next).map(({ id }) => id)
  return [
    ...(gone.length === 0 ? [] : [`the keys of ${gone.join(', ')} count no more once this is committed`]),
    ...(added.length === 0 ? [] : [`the new keys of ${added.join(', ')} have to approve this too`]),
    ...(next.m === 1 && next.signers.length > 1 ? ['any one of these signers can then decide alone'] : []),
    'what is open when this is committed has to be proposed again',
  ]
}

/** Shows a restored registry the newest checkpoint anybody has seen: if it has all of it, it may write again. */
export const adopt: CommandHandler = async (context) => {
  const path = context.given.text('checkpoint')
  const isMoved = context.given.has('moved')
  if (path === undefined && !isMoved) {
    const detail =
      'Name the newest checkpoint of this log that was seen elsewhere, with --checkpoint FILE; or say --moved, if nothing was signed since the backup or the move.'
    throw new CairnError('Malformed', detail, { code: 'usage' })
  }
  const note = path === undefined ? new Uint8Array(0) : await readWhole(path)
  return await withRegistry(context, async (registry) => {
    const size = await registry.client.adopt(note, isMoved, registry.call())
    const flags = connectionFlags(context.given)
    return {
      result: { size },
      message: `all ${size} entries of that checkpoint are here; with its keys here the registry writes again after a restart`,
      next: [`npx cairn stop${flags} && npx cairn start${flags}`],
    }
  })
}

/** Writes down whom to believe about this registry: worth as much as the way to the node it was asked over. */
export const trust: CommandHandler = async (context) => {
  const path = context.given.text('output') ?? '-'
  if (path !== '-') await mustBeNew(path)
  return await withRegistry(context, async (registry) => {
    const found = await registry.client.trust(registry.call())
    const bytes = encodeTrust(found)
    if (path !== '-') await writeFileWhole(path, [bytes])
    const { origin, genesis, logKeys } = found
    return {
      result: { path, origin, genesis, log_keys: logKeys.map(formatVerifierKey) },
      data: path === '-' ? `${new TextDecoder().decode(bytes)}\n` : '',
      message: `${origin}, as ${registry.url} says; compare it with what others have before you rely on it`,
      next: path === '-' ? [] : [`npx cairn registry verify${connectionFlags(context.given)} --trust ${path}`],
    }
  })
}

/** The proof of the newest version carries every change of signers. */
export async function signerSetInForce({
  client,
  call,
}: RegistryConnection): Promise<{ version: number; item: SignerSetItem }> {
  const { version: newest } = await client.head(call())
  const { commits } = parseProof(await client.proof({ version: newest }, undefined, call()))
  for (const { artifact } of commits.toReversed()) {
    const item = signerSetOf(artifact.payload)
    if (item !== undefined) return { version: artifact.version, item }
  }
  throw new CairnError('Integrity', 'The registry gives a proof without any signer set.')
}
