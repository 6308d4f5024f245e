/** `cairn name propose|approve|commit`: how a name comes to mean something. */
import type { ListedProposal, ProposalPage } from '@cairn/clients'
import { CairnError, isKind, SystemClock } from '@cairn/kernel'
import { isRelease, isReleaseTag, itemHash, type NameItem, parseName, parsePayload, type Signer } from '@cairn/names'
import { parseAddress, spellCount, toBase64url } from '@cairn/wire'
import type { CommandArguments, CommandContext, CommandHandler } from './command.ts'
import { fingerprint, readKeyFile, signingKeyPath, signWith } from './key.ts'
import { signerSetInForce } from './registry.ts'
import { connectionFlags, describeQuorum, formatInstant, formatItems } from './registry-format.ts'
import { formatProposal, propose as proposeItems, quorumResult, readProposal } from './registry-proposal.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { formatName, nameResult, reviewNames } from './review.ts'
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
    const reviews = await reviewNames(context, registry, shown)
    if (!given.has('quiet') && !given.has('json')) {
      const lines = [`${signer.id} (${signer.algo}, ${path}) signs:`, ...formatProposal(shown)]
      terminal.say(`  ${[...lines, ...reviews.flatMap(formatName)].map(escapeControls).join('\n  ')}\n`)
      for (const warning of reviews.flatMap((each) => each.warnings)) terminal.say(`  ! ${escapeControls(warning)}\n`)
    }
    await mustBeMeant(context, id, signer.id)
    const sig = toBase64url(signWith(key, shown.input))
    const request = { signer_id: signer.id, sig, signed_at: new SystemClock().wall() }
    const quorum = await registry.client
      .approve(id, request, registry.call())
      .catch(async (error: unknown) => await withFingerprints(error, registry, key.signer, path))
    const isMet = quorum.isMet
    return {
      result: {
        proposal_id: id,
        signer_id: signer.id,
        payload: shown.payload,
        signing_input: new TextDecoder().decode(shown.input),
        names: reviews.map(nameResult),
        quorum: quorumResult(quorum),
      },
      message: `approved as ${signer.id}\n  ${describeQuorum(quorum)}`,
      warnings: [...warnings, ...(given.has('json') ? reviews.flatMap((each) => each.warnings) : [])],
      next: [
        `npx cairn name ${isMet ? 'commit' : 'approve'} ${id}${connectionFlags(given)}${isMet ? '' : ' --key FILE'}`,
      ],
    }
  })
}

/** A signature is given by a person who was asked, or by a program that says so. */
async function mustBeMeant({ given, terminal }: CommandContext, id: string, signer: string): Promise<void> {
  if (given.has('yes')) return
  if (terminal.ask === undefined) {
    const detail = `Nothing was signed: there is no terminal to ask at. Read \`cairn name review ${id}\`, then say --yes.`
    throw new CairnError('Malformed', detail, { code: 'not_asked' })
  }
  const answer = await terminal.ask(`  Sign as ${signer}? [y/N] `)
  if (/^y(?:es)?$/i.test(answer.trim())) return
  throw new CairnError('Conflict', 'Nothing was signed.', { code: 'declined' })
}

/** A refused signature, with the key that made it and the one that was expected. */
async function withFingerprints(
  error: unknown,
  registry: RegistryConnection,
  { id, key }: Signer,
  path: string,
): Promise<never> {
  if (!(error instanceof CairnError) || error.code !== 'InvalidSig') throw error
  const { item } = await signerSetInForce(registry)
  const expected = item.signers.find((signer) => signer.id === id)
  if (expected === undefined || expected.key === key) throw error
  const detail = `${path} holds the key ${fingerprint(key)}, but the signer ${id} has the key ${fingerprint(expected.key)}.`
  throw new CairnError(error.kind, detail, { code: error.code, status: error.status, cause: error })
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
