/** Holds a registry that was opened again to everything it said before. */
import { type Artifact, decodeLeaf, itemHash, type LiveItem, type LogLeaf, parseArtifact } from '@cairn/names'
import { addressOf, parseJson } from '@cairn/wire'
import type { RegistryLife } from './registry-life.ts'
import { type Mark, SignedRoots } from './registry-marks.ts'
import { signatureOf, TEST_SIGNERS } from './registry-signers.ts'

type Of<Tag extends Mark['tag']> = Extract<Mark, { tag: Tag }>

export interface Held {
  /** HEAD was ahead of the last one anybody was told: a commit under way was durable. */
  readonly isAhead: boolean
  readonly version: number
}

/** Throws, saying what is lost, doubled or forked, unless every mark is kept. */
export async function holdToPromises(life: RegistryLife, marks: readonly Mark[]): Promise<Held> {
  const of = <Tag extends Mark['tag']>(tag: Tag): Of<Tag>[] => marks.filter((mark): mark is Of<Tag> => mark.tag === tag)
  const asked = new Set(of('asked').map(({ proposal }) => proposal))
  const history = await readHistory(life, asked)
  const told = Math.max(
    0,
    ...of('committed').map(({ version }) => version),
    ...of('head').map(({ version }) => version),
  )
  if (history.head.version < told)
    throw new Error(`HEAD is version ${history.head.version}; version ${told} was told before.`)
  for (const { version, hash } of [...of('committed'), ...of('head')]) {
    const { hash: found } = life.parts.ledger.facts(version)
    if (found !== hash) throw new Error(`Version ${version} is ${found}; ${hash} was told before.`)
  }
  for (const { proposal, version } of of('committed')) mustBe(history, proposal, version)
  for (const { proposal } of of('refused')) {
    const version = history.versionOf.get(proposal)
    if (version !== undefined) throw new Error(`${proposal} was refused for good and is version ${version}.`)
  }
  await holdEntries(life, of('noted'), of('proposed'), of('approved'))
  await holdOpen(life, of('approved'))
  await holdRoots(life, of('signed'), of('checkpoint'))
  return { isAhead: history.head.version > told, version: history.head.version }
}

/** A checkpoint that was published, or that an answer stood on, is found again and not made anew. */
export function holdToCheckpoint(marks: readonly Mark[], signedAtOpen: readonly Mark[]): void {
  const published = marks.map((mark) => {
    if (mark.tag === 'checkpoint') return mark.size
    return 'index' in mark ? mark.index + 1 : 0
  })
  const largest = Math.max(0, ...published)
  for (const mark of signedAtOpen)
    if (mark.tag === 'signed' && mark.size <= largest)
      throw new Error(`A checkpoint of ${largest} entries was published and is lost; ${mark.size} are signed anew.`)
}

interface History {
  readonly head: { readonly version: number; readonly hash: string }
  readonly versionOf: ReadonlyMap<string, number>
}

/** Every version that is kept, chained to the one before it, each of another proposal that somebody asked for. */
async function readHistory({ parts }: RegistryLife, asked: ReadonlySet<string>): Promise<History> {
  const { head } = parts.published.value
  const versionOf = new Map<string, number>()
  let before: Artifact | undefined
  for (let version = 0; version <= head.version; version += 1) {
    const { hash, log_index: index } = parts.ledger.facts(version)
    if (index < parts.log.minimumIndex) {
      before = undefined
      continue
    }
    const { bytes } = await parts.archive.artifact(version)
    if (addressOf(bytes) !== hash) throw new Error(`Version ${version} is not what its hash says.`)
    const artifact = parseArtifact(parseJson(bytes))
    const { proposal_id: id } = artifact.proposal
    if (artifact.version !== version) throw new Error(`Version ${version} says it is version ${artifact.version}.`)
    if (before !== undefined && artifact.prev_hash !== parts.ledger.facts(version - 1).hash)
      throw new Error(`Version ${version} does not follow version ${version - 1}.`)
    if (versionOf.has(id)) throw new Error(`${id} was committed twice: ${versionOf.get(id)} and ${version}.`)
    if (version > 0 && !asked.has(id)) throw new Error(`Version ${version} is ${id}, which nobody asked for.`)
    versionOf.set(id, version)
    before = artifact
  }
  return { head, versionOf }
}

function mustBe({ versionOf }: History, proposal: string, version: number): void {
  const found = versionOf.get(proposal)
  // What was pruned is known by its version and hash alone.
  if (found !== undefined && found !== version)
    throw new Error(`${proposal} was committed as version ${version} and is version ${found}.`)
}

async function holdEntries(
  life: RegistryLife,
  noted: readonly Of<'noted'>[],
  proposed: readonly Of<'proposed'>[],
  approved: readonly Of<'approved'>[],
): Promise<void> {
  for (const { index, count } of noted)
    await mustHold(life, index, (leaf) => leaf.type === 'audit_head' && leaf.audit.count === count)
  for (const { index, proposal } of proposed)
    await mustHold(life, index, (leaf) => leaf.type === 'proposal' && leaf.proposal.proposal_id === proposal)
  for (const { index, proposal, signer } of approved)
    await mustHold(life, index, (leaf) => {
      return leaf.type === 'approval' && leaf.proposal_id === proposal && leaf.approval.signer_id === signer
    })
}

async function mustHold({ parts }: RegistryLife, index: number, isIt: (leaf: LogLeaf) => boolean): Promise<void> {
  if (index < parts.log.minimumIndex) return
  if (index >= parts.log.size) throw new Error(`Entry ${index} is lost; the log ends at ${parts.log.size}.`)
  if (!isIt(decodeLeaf(await parts.archive.entry(index)))) throw new Error(`Entry ${index} is another one.`)
}

/** An approval that was counted still counts, as long as its proposal is open. */
async function holdOpen(life: RegistryLife, approved: readonly Of<'approved'>[]): Promise<void> {
  for (const { proposal, signer } of approved) {
    if (life.parts.ledger.committed(proposal) !== undefined) continue
    const approvals = life.parts.ledger.open(proposal)?.approvals ?? []
    if (!approvals.some(({ signer_id: id }) => id === signer))
      throw new Error(`The approval of ${proposal} by ${signer} is lost.`)
  }
  await Promise.resolve()
}

/** No root that was ever signed is another than the log has, nor of entries it has not. */
async function holdRoots(
  { parts }: RegistryLife,
  signed: readonly Of<'signed'>[],
  seen: readonly Of<'checkpoint'>[],
): Promise<void> {
  const roots = new SignedRoots()
  for (const { size, root } of [...signed, ...seen]) roots.note(size, root)
  for (const [size, root] of roots) {
    if (size > parts.log.size) throw new Error(`${size} entries were signed; the log has ${parts.log.size}.`)
    const found = Buffer.from(await parts.log.rootAt(size)).toString('base64')
    if (found !== root) throw new Error(`For ${size} entries ${root} was signed; the log has ${found}.`)
  }
  const largest = Math.max(0, ...seen.map(({ size }) => size))
  if (parts.published.value.size < largest)
    throw new Error(`${parts.published.value.size} entries are published; ${largest} were before.`)
}

/** It goes on from there: a name is changed, and that is the next version. */
export async function holdToUse(life: RegistryLife): Promise<void> {
  const before = life.parts.published.value.head.version
  const known = await life.ask('GET', '/registry/names/afterwards@1')
  const prev = known.status === 200 ? itemHash((known.json() as { item: LiveItem }).item) : null
  const item = { kind: 'name', id: 'afterwards@1', manifest: addressOf(new Uint8Array(1)), prev }
  const opened = (await life.ask('POST', '/registry/proposals', { payload: { items: [item] } })).json()
  const { proposal_id: id, signing_input: input } = opened as { proposal_id: string; signing_input: string }
  for (const testSigner of TEST_SIGNERS.slice(0, 2)) {
    const body = { signer_id: testSigner.signer.id, sig: signatureOf(testSigner, input) }
    await life.ask('POST', `/registry/approvals/${id}`, body)
  }
  const committed = await life.ask('POST', `/registry/commit/${id}`)
  if (committed.status !== 201 || (committed.json() as { version: number }).version !== before + 1)
    throw new Error(`After version ${before} a commit is answered ${committed.status} ${committed.body.toString()}`)
}
