/** `cairn registry verify [URL]`: walks a whole log, says exactly what was checked, and names what is wrong. */
import { CairnError, SystemClock } from '@cairn/kernel'
import {
  type CheckedCheckpoint,
  type Pin,
  parseProof,
  parseTrust,
  type TrustFile,
  verifyCheckpoint,
  verifyProof,
} from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { type Checkpoint, parseCheckpoint, parseNote } from '@cairn/tlog'
import { parseDuration, spellCount } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { readWhole } from './local-files.ts'
import { connectionFlags } from './registry-format.ts'
import { readPin, storePin } from './registry-pins.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { type LogWalk, walkLog } from './registry-walk.ts'
import { refusedOutcome, reportOutcome, type VerificationReport } from './verify-proof.ts'

type CheckedLine = VerificationReport['checked'][number]

export const verify: CommandHandler = async (context) => {
  const trustPath = context.given.text('trust')
  const trust = trustPath === undefined ? undefined : parseTrust(await readWhole(trustPath))
  const [url] = context.given.operands
  return await withRegistry(context, async (registry) => await verifyLog(context, registry, trust), url)
}

/** The checkpoint first: a log that nobody vouches for, or that shows less than before, need not be walked to be refused. */
async function verifyLog(
  context: CommandContext,
  registry: RegistryConnection,
  given: TrustFile | undefined,
): Promise<CommandOutcome> {
  const { environment } = context.terminal
  const head = await registry.client.head(registry.call())
  const note = await registry.client.checkpoint(registry.call())
  const checkpoint = parseCheckpoint(parseNote(note).text)
  const { origin, size, root } = checkpoint
  const pin = await readPin(environment, origin)
  const trust = given ?? pin?.trust
  const before = judgeCheckpoint(context, { note, checkpoint, trust, pin })
  if (before instanceof CairnError) return refused(registry, origin, before, undefined)
  const progress = new EntryLine(context, size)
  const options = { origin, size, root, head, pin, verifier: systemCrypto, onProgress: progress.show }
  const walk = await walkLog(registry, options).finally(progress.clear)
  if (walk.bad !== undefined) {
    const error = new CairnError('Integrity', walk.bad.detail, { code: 'log_damaged' })
    return refused(registry, origin, error, walk)
  }
  if (trust !== undefined && walk.replay.isWhole && walk.replay.genesis !== trust.genesis) {
    const detail = `The log begins with ${walk.replay.genesis ?? 'nothing'}, not with ${trust.genesis}.`
    return refused(registry, origin, new CairnError('Integrity', detail, { code: 'other_genesis' }), walk)
  }
  const proven = walk.replay.isWhole || trust === undefined ? [] : await provenHead(registry, head.version, trust)
  if (proven instanceof CairnError) return refused(registry, origin, proven, walk)
  const lines = [...walkedLines(walk, checkpoint, head.version), ...proven]
  const checked = [...(before?.checked ?? []), ...pinLine(pin), ...lines]
  const unchecked = [...(before?.unchecked ?? UNTRUSTED).filter(({ check }) => check !== 'pin'), ...leftOut(walk, pin)]
  const says = `${spellCount(walk.replay.tally.versions, 'version')}, the newest is ${head.version}, ${head.hash}`
  const verdict = trust === undefined ? 'consistent' : 'verified'
  const examined: VerificationReport = {
    verdict,
    origin,
    says: walk.replay.isWhole ? says : undefined,
    checked,
    unchecked,
  }
  const outcome = reportOutcome(examined, { url: registry.url, ...countsOf(walk), size, bad_index: null })
  if (trust === undefined) return { ...outcome, next: untrustedSteps(context, registry) }
  const pinned = await storePin(environment, { trust, size, root, checkpoint: new TextDecoder().decode(note) })
  const message = `every entry up to ${size} was read and holds; remembered in ${pinned}`
  if (walk.replay.isWhole) return { ...outcome, message }
  const detail = `Verified in part: what the ${walk.minimumIndex} entries said that retention removed could not be read.`
  return { ...outcome, error: new CairnError('Integrity', detail, { code: 'partial' }) }
}

interface JudgedCheckpoint {
  readonly note: Uint8Array
  readonly checkpoint: Checkpoint
  readonly trust: TrustFile | undefined
  readonly pin: Pin | undefined
}

/** What can be said for the checkpoint, nothing without trust, or why it is refused. */
function judgeCheckpoint(
  { given }: CommandContext,
  { note, checkpoint, trust, pin }: JudgedCheckpoint,
): CheckedCheckpoint | CairnError | undefined {
  const { origin, size } = checkpoint
  if (trust === undefined) return undefined
  const maxAge = given.text('max-age')
  const age = maxAge === undefined ? {} : { maxCheckpointAgeMs: parseDuration(maxAge) }
  if (origin !== trust.origin)
    return new CairnError('Integrity', `This is the log ${origin}, not ${trust.origin}.`, { code: 'other_origin' })
  if (pin !== undefined && size < pin.size) {
    const detail = `The log shows ${size} entries; ${pin.size} were seen before. Entries were taken back.`
    return new CairnError('Integrity', detail, { code: 'older_than_pin' })
  }
  try {
    return verifyCheckpoint(note, undefined, trust, systemCrypto, { now: new SystemClock().wall(), ...age })
  } catch (error) {
    if (error instanceof CairnError && error.kind === 'Integrity') return error
    throw error
  }
}

function refused(
  { url }: RegistryConnection,
  origin: string,
  error: CairnError,
  walk: LogWalk | undefined,
): CommandOutcome {
  const counts = walk === undefined ? {} : countsOf(walk)
  const checked: CheckedLine[] =
    walk === undefined || walk.entries === 0
      ? []
      : [{ check: 'entries', detail: `${spellCount(walk.entries, 'entry')} before it hold.` }]
  const examined: VerificationReport = { verdict: 'refused', origin, says: undefined, checked, unchecked: [] }
  return refusedOutcome(examined, error, { url, ...counts, bad_index: walk?.bad?.index ?? null })
}

/** Of a log whose beginning is gone, HEAD is still proved from genesis on: by the artifacts that are kept for ever. */
async function provenHead(
  { client, call }: RegistryConnection,
  version: number,
  trust: TrustFile,
): Promise<readonly CheckedLine[] | CairnError> {
  const proof = parseProof(await client.proof({ version }, undefined, call()))
  const verdict = verifyProof(proof, trust, systemCrypto, { now: new SystemClock().wall() })
  if (verdict.kind === 'refused') return new CairnError('Integrity', verdict.detail, { code: verdict.code })
  const detail = `HEAD, version ${version}: every signer set since genesis, its approvals and its place in the log are proved.`
  return [{ check: 'head', detail }]
}

function pinLine(pin: Pin | undefined): CheckedLine[] {
  return pin === undefined
    ? []
    : [{ check: 'pin', detail: `The first ${pin.size} entries are those that were seen before.` }]
}

function walkedLines(walk: LogWalk, { size }: Checkpoint, newest: number): CheckedLine[] {
  const { versions, proposals, approvals, signerSets } = walk.replay.tally
  const all = walk.replay.isWhole
  const read = `${entriesOf(walk.entries)} read${all ? '' : `, from ${walk.minimumIndex} on`}; each has the hash its tile says.`
  const counted = [
    spellCount(proposals, 'proposal'),
    spellCount(approvals, 'approval'),
    spellCount(versions, 'version'),
    spellCount(signerSets, 'signer set'),
  ]
  return [
    { check: 'entries', detail: read },
    { check: 'tiles', detail: `Of ${spellCount(walk.tiles, 'tile')} every hash is the one the entries make.` },
    { check: 'root', detail: `The tree of the ${entriesOf(size)} has the root of the checkpoint.` },
    {
      check: 'replay',
      detail: all
        ? `${counted.join(', ')}: every signature, quorum, chain and state root computed again.`
        : 'The versions that are left chain, each to the one before.',
    },
    ...(all ? [{ check: 'head', detail: `HEAD, version ${newest}, is what the log makes it.` } as const] : []),
  ]
}

/** What the walk had no way to look at. */
function leftOut({ minimumIndex, replay }: LogWalk, pin: Pin | undefined): CheckedLine[] {
  const { unreadPayloads, snapshots } = replay.tally
  const lines: (CheckedLine | false)[] = [
    pin === undefined && { check: 'pin', detail: 'Nothing of this log was seen here before.' },
    !replay.isWhole && {
      check: 'replay',
      detail: `The first ${minimumIndex} entries were removed by retention: approvals and state of what follows cannot be judged.`,
    },
    unreadPayloads > 0 && {
      check: 'payloads',
      detail: `${spellCount(unreadPayloads, 'proposal')} without a commit keep their payloads outside the log.`,
    },
    snapshots > 0 && {
      check: 'snapshots',
      detail: `That ${spellCount(snapshots, 'snapshot')} of the state can be had is the word of the log.`,
    },
  ]
  return lines.filter((line) => line !== false)
}

const UNTRUSTED: readonly CheckedLine[] = [
  { check: 'checkpoint_signature', detail: 'Without a trust file no key is trusted.' },
  { check: 'genesis', detail: 'That the log begins as it should is its own word.' },
  { check: 'witnesses', detail: 'A split view is not excluded: there is no witness policy.' },
  { check: 'age', detail: 'How old the checkpoint is cannot be said.' },
]

function countsOf({ entries, tiles, minimumIndex, replay }: LogWalk): Readonly<Record<string, unknown>> {
  const { versions, proposals, approvals, signerSets, auditHeads, snapshots } = replay.tally
  const leaves = { versions, proposals, approvals, signer_sets: signerSets, audit_heads: auditHeads, snapshots }
  return { entries, tiles, minimum_index: minimumIndex, ...leaves }
}

function untrustedSteps({ given }: CommandContext, { url }: RegistryConnection): string[] {
  const [operand] = given.operands
  const place = operand === undefined ? '' : ` ${url}`
  const flags = connectionFlags(given)
  return [`npx cairn registry trust${flags} -o FILE`, `npx cairn registry verify${place}${flags} --trust FILE`]
}

function entriesOf(count: number): string {
  return spellCount(count, 'entry').replace(/entrys$/, 'entries')
}

/** How far the walk is, on one line that is drawn again; only where somebody watches. */
class EntryLine {
  readonly #context: CommandContext
  readonly #size: number
  #isThere = false

  constructor(context: CommandContext, size: number) {
    this.#context = context
    this.#size = size
  }

  readonly show = (entries: number): void => {
    const { given, terminal } = this.#context
    if (!terminal.isWatched || given.has('quiet') || given.has('json')) return
    terminal.say(`\r\u001B[K… ${entriesOf(entries)} of ${this.#size} read`)
    this.#isThere = true
  }

  readonly clear = (): void => {
    if (this.#isThere) this.#context.terminal.say('\r\u001B[K')
    this.#isThere = false
  }
}
