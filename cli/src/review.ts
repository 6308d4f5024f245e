/**
 * `cairn name review PROPOSAL`: what a proposal would change, from nothing the node says without proof.
 *
 *     payload, by its hash ──────────────────────────────────▶ what each name would mean
 *     proof of the name ─▶ trust file, or what was seen before ─▶ what it means: version, when, by whom
 *     trees of both, by address ─────────────────────────────▶ files added, removed, changed
 */
import { CairnError, SystemClock } from '@cairn/kernel'
import {
  type Artifact,
  type Item,
  isLive,
  itemHash,
  type NameItem,
  parseProof,
  parseTrust,
  type TrustFile,
  verifyProof,
} from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import type { TreeChange } from '@cairn/sdk'
import type { Address } from '@cairn/wire'
import type { CommandContext, CommandHandler } from './command.ts'
import { changeResult, formatChanges, summaryOf } from './diff.ts'
import { readWhole } from './local-files.ts'
import { connectionFlags, describeQuorum, formatInstant } from './registry-format.ts'
import { readPin } from './registry-pins.ts'
import { formatProposal, type ProposalToSign, quorumResult, readProposal } from './registry-proposal.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { findService } from './service-client.ts'
import { withStorage } from './storage.ts'
import { escapeControls } from './terminal-text.ts'

export const review: CommandHandler = async (context) =>
  await withRegistry(context, async (registry) => {
    const shown = await readProposal(registry, context.given.operands[0] ?? '')
    const changes = await reviewNames(context, registry, shown)
    const { proposal, payload, quorum } = shown
    return {
      result: {
        proposal_id: proposal.proposal_id,
        note: payload.note ?? null,
        items: payload.items,
        names: changes.map(nameResult),
        quorum: quorumResult(quorum),
      },
      data: [...formatProposal(shown), ...changes.flatMap(formatName), describeQuorum(quorum)]
        .map((line) => `${escapeControls(line)}\n`)
        .join(''),
      warnings: changes.flatMap(({ warnings }) => warnings),
      next: quorum.isMet
        ? [`npx cairn name commit ${proposal.proposal_id}${connectionFlags(context.given)}`]
        : [`npx cairn name approve ${proposal.proposal_id}${connectionFlags(context.given)} --key FILE`],
    }
  })

interface OldMeaning {
  readonly item: NameItem | undefined
  readonly artifact: Artifact | undefined
  /** By a trust file, or what this user has seen of the log. */
  readonly isProved: boolean
}

export interface NameReview {
  readonly name: string
  readonly old: OldMeaning
  /** The address it would mean; none where it is removed. */
  readonly next: Address | undefined
  /** None where the trees cannot be had. */
  readonly changes: readonly TreeChange[] | undefined
  readonly warnings: readonly string[]
}

/** What the proposal would do to each name in it; throws where a proof or a byte is not what it must be. */
export async function reviewNames(
  context: CommandContext,
  registry: RegistryConnection,
  { payload }: ProposalToSign,
): Promise<readonly NameReview[]> {
  const reviews: NameReview[] = []
  for (const item of payload.items) if (item.kind === 'name') reviews.push(await reviewName(context, registry, item))
  return reviews
}

async function reviewName(context: CommandContext, registry: RegistryConnection, item: Item): Promise<NameReview> {
  const old = await oldMeaning(context, registry, item.id)
  const next = isLive(item) && item.kind === 'name' ? item.manifest : undefined
  const warnings: string[] = []
  if (!old.isProved)
    warnings.push(`what ${item.id} means now is believed, not proved: name a trust file with --trust FILE`)
  if ((old.item === undefined ? null : itemHash(old.item)) !== item.prev)
    warnings.push(`${item.id} has changed since this was proposed; it cannot be committed`)
  let changes: NameReview['changes']
  // A signer may reach the registry alone.
  const storage = await findService(context, 'storage').catch(() => undefined)
  if (storage === undefined)
    warnings.push(`the files of ${item.id} were not compared: no storage can be asked from here`)
  try {
    if (storage === undefined) return { name: item.id, old, next, changes, warnings }
    changes = await withStorage(
      context,
      async (cairn, signal) => await cairn.diff(old.item?.manifest, next, { signal }),
    )
  } catch (error) {
    // What is not there cannot be compared; what is there and lies is another matter.
    if (!(error instanceof CairnError) || error.kind === 'Integrity' || error.kind === 'Canceled') throw error
    warnings.push(`the files of ${item.id} were not compared: ${error.message}`)
  }
  return { name: item.id, old, next, changes, warnings }
}

/** What the name means now, by its proof; `Integrity` where that is refused. */
async function oldMeaning(
  { given, terminal }: CommandContext,
  registry: RegistryConnection,
  name: string,
): Promise<OldMeaning> {
  const trustPath = given.text('trust')
  const trust: TrustFile | undefined = trustPath === undefined ? undefined : parseTrust(await readWhole(trustPath))
  const { origin } = await registry.client.head(registry.call())
  const pin = await readPin(terminal.environment, origin)
  const proof = parseProof(await registry.client.proof({ name }, pin?.size, registry.call()))
  const options = { now: new SystemClock().wall(), ...(pin === undefined ? {} : { pin }) }
  const verdict = verifyProof(proof, trust, systemCrypto, options)
  if (verdict.kind === 'refused')
    throw new CairnError('Integrity', `The registry's proof of ${name} is refused: ${verdict.detail} Do not sign.`, {
      code: verdict.code,
    })
  const { finding } = verdict
  if (finding.type !== 'name' || finding.name !== name)
    throw new CairnError('Integrity', `The registry sent a proof that is not about ${name}. Do not sign.`, {
      code: 'wrong_subject',
    })
  const item = finding.item ?? undefined
  const hash = item === undefined ? undefined : itemHash(item)
  const isMaker = ({ payload }: Artifact): boolean => payload.items.some((each) => itemHash(each) === hash)
  const artifact = proof.commits.map((commit) => commit.artifact).find(isMaker)
  return { item, artifact, isProved: verdict.kind === 'verified' }
}

export function nameResult({ name, old, next, changes }: NameReview) {
  const { item, artifact, isProved } = old
  return {
    name,
    before: item?.manifest ?? null,
    version: artifact?.version ?? null,
    committed_at: artifact === undefined ? null : formatInstant(artifact.committed_at),
    approved: artifact === undefined ? null : approversOf(artifact),
    is_proved: isProved,
    after: next ?? null,
    changes: changes?.map(changeResult) ?? null,
  }
}

/** Of many changes the first, since a person reads them; `--json` has all. */
const LINES_MAX = 40

export function formatName({ name, old, next, changes }: NameReview): string[] {
  const { item, artifact } = old
  const made =
    artifact === undefined
      ? ''
      : ` (version ${artifact.version}, ${formatInstant(artifact.committed_at)}, by ${approversOf(artifact).join(', ')})`
  const lines = changes === undefined ? [] : formatChanges(changes)
  const left = lines.length - LINES_MAX
  return [
    `${name}: ${item === undefined ? 'nothing' : item.manifest}${made}`,
    `  becomes ${next ?? 'nothing'}`,
    ...(changes === undefined ? [] : [`  ${summaryOf(changes)}`]),
    ...lines.slice(0, LINES_MAX).map((line) => `    ${line}`),
    ...(left > 0 ? [`    and ${left} more; --json lists all`] : []),
  ]
}

function approversOf({ approvals }: Artifact): string[] {
  return approvals.filter(({ role }) => role === 'current').map(({ signer_id }) => signer_id)
}
