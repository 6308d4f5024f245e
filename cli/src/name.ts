/** `cairn name propose|approve|commit`: how a name comes to mean something. */
import type { ListedProposal, ProposalPage } from '@cairn/clients'
import { CairnError, isKind, SystemClock } from '@cairn/kernel'
import { isRelease, isReleaseTag, itemHash, type NameItem, parseName, parsePayload } from '@cairn/names'
import { parseAddress, spellCount, toBase64url } from '@cairn/wire'
import type { CommandArguments, CommandHandler } from './command.ts'
import { readKeyFile, signingKeyPath, signWith } from './key.ts'
import { connectionFlags, describeQuorum, formatInstant, formatItems } from './registry-format.ts'
import { formatProposal, propose as proposeItems, quorumResult, readProposal } from './registry-proposal.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { escapeControls } from './terminal-text.ts'

// `cairn name pending`: the proposals that wait for approvals, oldest first.

export const pending: CommandHandler = async (context) =>
  await withRegistry(context, async (registry) => {
    const found = await openProposals(registry)
    const flags = connectionFlags(context.given)
    const [first] = found
    return {
      result: {
        proposals: found.map(({ listed: { proposal, quorum }, payload }) => ({
          proposal_id: proposal.proposal_id,
          expires_at: formatInstant(proposal.expires_at),
          items: payload.items,
          note: payload.note ?? null,
          quorum: quorumResult(quorum),
        })),
      },
      data: found
        .flatMap(({ listed: { proposal, quorum }, payload }) => [
          `${proposal.proposal_id}  until ${formatInstant(proposal.expires_at)}`,
          ...formatItems(payload).map((line) => `    ${escapeControls(line)}`),
          ...(payload.note === undefined ? [] : [`    note: ${escapeControls(payload.note)}`]),
          `    ${describeQuorum(quorum)}`,
        ])
        .map((line) => `${line}\n`)
        .join(''),
      message: found.length === 0 ? 'no proposal is open' : spellCount(found.length, 'open proposal'),
      next:
        first === undefined
          ? []
          : [
              first.listed.quorum.isMet
                ? `npx cairn name commit ${first.listed.proposal.proposal_id}${flags}`
                : `npx cairn name approve ${first.listed.proposal.proposal_id}${flags} --key FILE`,
            ],
    }
  })

async function openProposals({ client, call }: RegistryConnection) {
  const found = []
  let after: number | undefined
  do {
    const page: ProposalPage = await client.proposals(after, call())
    for (const listed of page.proposals) {
      const payload = await payloadOf({ client, call }, listed)
      if (payload !== undefined) found.push({ listed, payload })
    }
    after = page.cursor
  } while (after !== undefined)
  return found
}

/** What it would change; nothing if it was committed or expired between the two questions. */
async function payloadOf({ client, call }: Pick<RegistryConnection, 'client' | 'call'>, { proposal }: ListedProposal) {
  try {
    const open = await client.proposal(proposal.proposal_id, call())
    return open.status === 'committed' ? undefined : open.payload
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}

/** Proposes what a name is to mean in place of what it means now, or that it is to mean nothing. */
export const propose: CommandHandler = async (context) => {
  const { given } = context
  const id = parseName(given.operands[0] ?? '')
  const meaning = meaningOf(given)
  const note = given.text('note')
  const reason = given.text('supersede')
  return await withRegistry(context, async (registry) => {
    const current = await registry.client.name(id, undefined, registry.call())
    if (current === undefined && 'deleted' in meaning) throw nothingToRemove(id)
    const prev = current === undefined ? null : itemHash(current.item)
    const kind = 'deleted' in meaning ? {} : { mutable: mutableFor(given, id, current?.item) }
    const payload = parsePayload({
      items: [{ kind: 'name', id, prev, ...meaning, ...kind }],
      ...(note === undefined ? {} : { note }),
    })
    // Overrules the version that is HEAD now, and none that comes after it.
    const supersede =
      reason === undefined ? undefined : { of: (await registry.client.head(registry.call())).hash, reason }
    return await proposeItems(context, registry, payload, supersede)
  })
}

/** Whether the name may be given another meaning later: as it stands, else as was asked for, else as its tag looks. */
export function mutableFor(given: CommandArguments, name: string, current: NameItem | undefined): boolean {
  const [release, channel] = [given.has('release'), given.has('channel')]
  if (release && channel)
    throw new CairnError('Malformed', 'A name is a release or a channel, not both.', { code: 'usage' })
  if (current === undefined) return release ? false : channel || !isReleaseTag(name)
  if (isRelease(current)) {
    const detail = `${name} is a release: what it means is never changed and never removed. Publish under another name.`
    throw new CairnError('Conflict', detail, { code: 'ReleaseFixed' })
  }
  if (!release) return true
  const detail = `${name} is a channel, and a name never changes its kind. Publish the release under another name.`
  throw new CairnError('Conflict', detail, { code: 'other_kind' })
}

function meaningOf(given: CommandArguments): Pick<NameItem, 'manifest' | 'type'> | { readonly deleted: true } {
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
  return new CairnError('NotFound', `There is no name ${name} to remove.`, { code: 'no_name' })
}

/** Signs a proposal with a key of this machine, once everything that is signed has been shown. */
export const approve: CommandHandler = async (context) => {
  const { given, terminal } = context
  const id = proposalId(given)
  const path = await signingKeyPath(context)
  const { key, warnings } = await readKeyFile(path)
  const { signer } = key
  return await withRegistry(context, async (registry) => {
    const shown = await readProposal(registry, id)
    if (!given.has('quiet') && !given.has('json'))
      terminal.say(
        `  ${[`${signer.id} (${signer.algo}, ${path}) signs:`, ...formatProposal(shown)].map(escapeControls).join('\n  ')}\n`,
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
      message: `approved as ${signer.id}\n  ${describeQuorum(quorum)}`,
      warnings,
      next: [
        `npx cairn name ${isMet ? 'commit' : 'approve'} ${id}${connectionFlags(given)}${isMet ? '' : ' --key FILE'}`,
      ],
    }
  })
}

/** Makes an approved proposal the next version. */
export const commit: CommandHandler = async (context) => {
  const id = proposalId(context.given)
  return await withRegistry(context, async (registry) => {
    const facts = await registry.client.commit(id, registry.call())
    const { payload } = await registry.client.version(facts.version, registry.call())
    const { version, hash, committed_at, log_index } = facts
    const name = payload.items.find(({ kind }) => kind === 'name')
    return {
      result: { ...facts, committed_at: formatInstant(committed_at), items: payload.items },
      data: `${version}  ${hash}\n`,
      message: [`committed as version ${version}, entry ${log_index} of the log`, ...formatItems(payload)].join('\n  '),
      next: name === undefined ? [] : [`npx cairn name show ${name.id}${connectionFlags(context.given)}`],
    }
  })
}

function proposalId({ operands: [text = ''] }: CommandArguments): string {
  if (/^p_[0-9a-f]{32}$/.test(text)) return text
  const detail = `${text} is not the id of a proposal: p_ and 32 hexadecimal digits, as \`cairn name pending\` lists them.`
  throw new CairnError('Malformed', detail, { code: 'usage' })
}
