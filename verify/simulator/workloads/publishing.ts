/** What people do before a commit: one proposes, two of the three sign. */
import type { Random } from '@cairn/kernel'
import type { Item } from '@cairn/names'
import { addressOf } from '@cairn/wire'
import { ROOTS, signatureOf, TEST_SIGNERS } from '../../chaos/registry/registry-signers.ts'
import type { Cluster } from '../cluster.ts'
import { WRITER } from '../settings.ts'
import { type Outcome, outcomeOf } from './outcome.ts'

const ROOTS_FILE = 'roots.json'
const ROOTS_BYTES = Buffer.from(JSON.stringify(ROOTS))

/** What a workload brings that has names committed: the registry begins with these people. */
export const SIGNERS = {
  settings: { registry: { bootstrap: { trust_roots_path: ROOTS_FILE, trust_roots_hash: addressOf(ROOTS_BYTES) } } },
  files: { [ROOTS_FILE]: ROOTS_BYTES },
}

/** What only an unlucky client hears: somebody was faster, or what it builds on was never answered. */
export const OVERTAKEN: readonly string[] = [
  '409 ChainMismatch',
  '409 DuplicateApproval',
  '409 AlreadyCommitted',
  '409 ProposalExists',
  '404 NotFound',
]

/** Opens the proposal under this id and has all sign but one; `acknowledged` means that it can be committed. */
export async function propose(cluster: Cluster, id: string, items: readonly Item[], random: Random): Promise<Outcome> {
  const registry = cluster.node(WRITER)
  const body = { payload: { items }, proposal_id: id }
  const opened = await cluster.send(registry, 'registry', 'POST', '/registry/proposals', { body })
  const proposed = outcomeOf('propose', opened, [202], OVERTAKEN)
  if (proposed !== 'acknowledged') return proposed
  const { signing_input: input } = opened.json() as { signing_input: string }
  const absent = Math.floor(random.next() * TEST_SIGNERS.length)
  for (const testSigner of TEST_SIGNERS.filter((_, at) => at !== absent)) {
    const approval = { signer_id: testSigner.signer.id, sig: signatureOf(testSigner, input) }
    const answer = await cluster.send(registry, 'registry', 'POST', `/registry/approvals/${id}`, { body: approval })
    const approved = outcomeOf('approve', answer, [200], OVERTAKEN)
    if (approved !== 'acknowledged') return approved
  }
  return 'acknowledged'
}
