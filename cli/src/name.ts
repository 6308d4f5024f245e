/** `cairn name propose|approve|commit`: how a name comes to mean something. */

import { CairnError, SystemClock } from '@cairn/kernel'
import { itemHash, type NameItem, parseName, parsePayload } from '@cairn/names'
import { parseAddress, toBase64url } from '@cairn/wire'
import type { Run } from './command.ts'
import type { Given } from './given.ts'
import { propose as proposeItems, quorumResult, readProposal, sayProposal } from './registry-proposal.ts'
import { withRegistry } from './registry-service.ts'
import { sameFlags, sayInstant, sayItems, sayQuorum } from './registry-words.ts'
import { readKeyFile, signingKeyPath, signWith } from './signer-key-file.ts'
import { visible } from './visible.ts'

/** Proposes what a name is to mean in place of what it means now, or that it is to mean nothing. */
export const propose: Run = async (context) => {
  const { given } = context
  const id = parseName(given.operands[0] ?? '')
  const meaning = meaningOf(given)
  const note = given.text('note')
  const reason = given.text('supersede')
  return await withRegistry(context, async (registry) => {
    const current = await registry.client.name(id, undefined, registry.call())
    if (current === undefined && 'deleted' in meaning) throw nothingToRemove(id)
    const prev = current === undefined ? null : itemHash(current.item)
    const payload = parsePayload({
      items: [{ kind: 'name', id, prev, ...meaning }],
      ...(note === undefined ? {} : { note }),
    })
    // Overrules the version that is HEAD now, and none that comes after it.
    const supersede =
      reason === undefined ? undefined : { of: (await registry.client.head(registry.call())).hash, reason }
    return await proposeItems(context, registry, payload, supersede)
  })
}

function meaningOf(given: Given): Pick<NameItem, 'manifest' | 'type'> | { readonly deleted: true } {
  const [, address] = given.operands
  const type = given.text('type')
  if (given.has('remove') !== (address === undefined) || (given.has('remove') && type !== undefined)) {
    const detail = 'A proposal gives the name an address, and perhaps a type, or it removes it with --remove.'
    throw new CairnError('Malformed', detail, { code: 'usage' })
  }
  if (address === undefined) return { deleted: true }
  return { manifest: parseAddress(address), ...(type === undefined ? {} : { type }) }
}

function nothingToRemove(name: string): CairnError {
  return new CairnError('NotFound', `${name} means nothing; there is nothing to remove.`, { code: 'no_name' })
}

/** Signs a proposal with a key of this machine, once everything that is signed has been shown. */
export const approve: Run = async (context) => {
  const { given, terminal } = context
  const id = proposalId(given)
  const path = await signingKeyPath(context)
  const { key, warnings } = await readKeyFile(path)
  const { signer } = key
  return await withRegistry(context, async (registry) => {
    const shown = await readProposal(registry, id)
    if (!given.has('quiet') && !given.has('json'))
      terminal.say(
        `  ${[`${signer.id} (${signer.algo}, ${path}) signs:`, ...sayProposal(shown)].map(visible).join('\n  ')}\n`,
      )
    const sig = toBase64url(signWith(key, shown.input))
    const request = { signer_id: signer.id, sig, signed_at: new SystemClock().wall() }
    const quorum = await registry.client.approve(id, request, registry.call())
    const isMet = quorum.isMet
    return {
      result: {
        proposal_id: id,
        signer_id: signer.id,
        payload: shown.payload,
        signing_input: new TextDecoder().decode(shown.input),
        quorum: quorumResult(quorum),
      },
      message: `approved as ${signer.id}\n  ${sayQuorum(quorum)}`,
      warnings,
      next: [`npx cairn name ${isMet ? 'commit' : 'approve'} ${id}${sameFlags(given)}${isMet ? '' : ' --key FILE'}`],
    }
  })
}

/** Makes an approved proposal the next version. */
export const commit: Run = async (context) => {
  const id = proposalId(context.given)
  return await withRegistry(context, async (registry) => {
    const facts = await registry.client.commit(id, registry.call())
    const { payload } = await registry.client.version(facts.version, registry.call())
    const { version, hash, committed_at, log_index } = facts
    const name = payload.items.find(({ kind }) => kind === 'name')
    return {
      result: { ...facts, committed_at: sayInstant(committed_at), items: payload.items },
      data: `${version}  ${hash}\n`,
      message: [`committed as version ${version}, entry ${log_index} of the log`, ...sayItems(payload)].join('\n  '),
      next: name === undefined ? [] : [`npx cairn name show ${name.id}${sameFlags(context.given)}`],
    }
  })
}

function proposalId({ operands: [text = ''] }: Given): string {
  if (/^p_[0-9a-f]{32}$/.test(text)) return text
  const detail = `${text} is not the id of a proposal: p_ and 32 hexadecimal digits, as \`cairn name pending\` lists them.`
  throw new CairnError('Malformed', detail, { code: 'usage' })
}
