/** `cairn name pending`: the proposals that wait for approvals, oldest first. */
import type { ListedProposal, ProposalPage } from '@cairn/clients'
import { isKind } from '@cairn/kernel'
import { spellCount } from '@cairn/wire'
import type { Run } from './command.ts'
import { quorumResult } from './registry-proposal.ts'
import { type Registry, withRegistry } from './registry-service.ts'
import { sameFlags, sayInstant, sayItems, sayQuorum } from './registry-words.ts'
import { visible } from './visible.ts'

export const pending: Run = async (context) =>
  await withRegistry(context, async (registry) => {
    const found = await openProposals(registry)
    const flags = sameFlags(context.given)
    const [first] = found
    return {
      result: {
        proposals: found.map(({ listed: { proposal, quorum }, payload }) => ({
          proposal_id: proposal.proposal_id,
          expires_at: sayInstant(proposal.expires_at),
          items: payload.items,
          note: payload.note ?? null,
          quorum: quorumResult(quorum),
        })),
      },
      data: found
        .flatMap(({ listed: { proposal, quorum }, payload }) => [
          `${proposal.proposal_id}  until ${sayInstant(proposal.expires_at)}`,
          ...sayItems(payload).map((line) => `    ${visible(line)}`),
          ...(payload.note === undefined ? [] : [`    note: ${visible(payload.note)}`]),
          `    ${sayQuorum(quorum)}`,
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

async function openProposals({ client, call }: Registry) {
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
async function payloadOf({ client, call }: Pick<Registry, 'client' | 'call'>, { proposal }: ListedProposal) {
  try {
    const open = await client.proposal(proposal.proposal_id, call())
    return open.status === 'committed' ? undefined : open.payload
  } catch (error) {
    if (isKind(error, 'NotFound')) return undefined
    throw error
  }
}
