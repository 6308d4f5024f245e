/** `cairn verify-proof FILE`: what a proof file is worth, without asking anybody. */
import { CairnError, SystemClock } from '@cairn/kernel'
import { type Check, type Finding, type Proof, parseProof, parseTrust, type Verdict, verifyProof } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { parseCheckpoint, parseNote } from '@cairn/tlog'
import { parseDuration } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { readWhole } from './local-files.ts'
import { formatRows } from './registry-format.ts'
import { readPin, storePin } from './registry-pins.ts'

// What a check of a log or a proof came to, line by line: what was checked, and what was not.

/** `check` is one word that programs know. */
interface ReportLine {
  readonly check: Check['check'] | 'entries' | 'tiles' | 'root' | 'replay' | 'head' | 'payloads' | 'snapshots'
  readonly detail: string
}

export interface VerificationReport {
  readonly verdict: 'verified' | 'consistent' | 'refused'
  readonly origin: string | undefined
  /** What it says, if it is to be believed. */
  readonly says: string | undefined
  readonly checked: readonly ReportLine[]
  readonly unchecked: readonly ReportLine[]
}

/** Of something that is as it should be, as far as it goes: without trust that is not far enough for success. */
export function reportOutcome(examined: VerificationReport, result: Readonly<Record<string, unknown>>): CommandOutcome {
  const outcome: CommandOutcome = { result: reportFields(examined, result), data: screenOf(examined) }
  if (examined.verdict === 'verified') return outcome
  const detail =
    'Consistent, NOT verified: everything agrees with itself, but no trusted key vouches for it. Anyone could have made it.'
  return { ...outcome, error: new CairnError('Integrity', detail, { code: 'not_verified' }) }
}

/** Of something that is not. */
export function refusedOutcome(
  examined: VerificationReport,
  error: CairnError,
  result: Readonly<Record<string, unknown>>,
): CommandOutcome {
  return { result: reportFields(examined, { ...result, code: error.code }), data: screenOf(examined), error }
}

function reportFields(
  { verdict, origin, checked, unchecked }: VerificationReport,
  result: Readonly<Record<string, unknown>>,
) {
  return { verdict, origin: origin ?? null, ...result, checked, not_checked: unchecked }
}

const VERDICTS = { verified: 'verified', consistent: 'consistent, NOT verified', refused: 'refused' } as const

function screenOf({ verdict, origin, says, checked, unchecked }: VerificationReport): string {
  const width = Math.max(0, ...[...checked, ...unchecked].map(({ check }) => check.length))
  const lines = (all: readonly ReportLine[]): string[] =>
    all.map(({ check, detail }) => `${check.padEnd(width)}  ${detail}`)
  return formatRows([
    ['verdict', VERDICTS[verdict]],
    ...(origin === undefined ? [] : [['log', origin] as const]),
    ...(says === undefined ? [] : [['says', says] as const]),
    ...(checked.length === 0 ? [] : [['checked', lines(checked)] as const]),
    ...(unchecked.length === 0 ? [] : [['not checked', lines(unchecked)] as const]),
  ])
}

export interface ExaminedProof {
  readonly path: string
  readonly proof: { readonly content: Proof; readonly origin: string }
  readonly verdict: Verdict
}

export const verify: CommandHandler = async (context) =>
  await outcomeOf(context, await examineProof(context, context.given.operands[0] ?? ''))

/** What the proof in this file is worth, by `--trust`, else by what was remembered of its log. */
export async function examineProof({ given, terminal }: CommandContext, path: string): Promise<ExaminedProof> {
  const bytes = await readWhole(path)
  const trustPath = given.text('trust')
  const trust = trustPath === undefined ? undefined : parseTrust(await readWhole(trustPath))
  const maxAge = given.text('max-age')
  const proof = readProof(path, bytes)
  const pin = await readPin(terminal.environment, proof.origin)
  const verdict = verifyProof(proof.content, trust, systemCrypto, {
    now: new SystemClock().wall(),
    ...(pin === undefined ? {} : { pin }),
    ...(maxAge === undefined ? {} : { maxCheckpointAgeMs: parseDuration(maxAge) }),
  })
  return { path, proof, verdict }
}

/** Whatever is wrong with the file, it proves nothing. */
function readProof(path: string, bytes: Uint8Array): ExaminedProof['proof'] {
  try {
    const content = parseProof(bytes)
    return { content, origin: parseCheckpoint(parseNote(content.checkpoint).text).origin }
  } catch (cause) {
    if (!(cause instanceof CairnError)) throw cause
    throw new CairnError('Integrity', `${path} is no proof: ${cause.message}`, { code: 'proof_damaged', cause })
  }
}

/** What is said of it; of a proof that is verified, its checkpoint is remembered. */
export async function outcomeOf(
  { terminal }: CommandContext,
  { path, proof, verdict }: ExaminedProof,
): Promise<CommandOutcome> {
  const { origin } = proof
  if (verdict.kind === 'refused') {
    const { code, detail } = verdict
    const examined: VerificationReport = { verdict: 'refused', origin, says: undefined, checked: [], unchecked: [] }
    const error = new CairnError('Integrity', `${path} is refused: ${detail}`, { code })
    return { ...refusedOutcome(examined, error, { path }), next: NEXT[code] ?? [] }
  }
  const { kind, finding, checked, unchecked } = verdict
  const says = formatFinding(finding)
  const result = { path, ...resultOf(finding), cosigned: verdict.kind === 'verified' ? verdict.cosigned : null }
  const outcome = reportOutcome({ verdict: kind, origin, says, checked, unchecked }, result)
  if (verdict.kind === 'consistent') {
    return { ...outcome, next: [`npx cairn verify-proof ${path} --trust FILE`, 'npx cairn registry trust -o FILE'] }
  }
  const { pin } = verdict
  const checkpoint = new TextDecoder().decode(proof.content.checkpoint)
  const pinned = await storePin(terminal.environment, { ...pin, checkpoint })
  return { ...outcome, message: `${says}; remembered in ${pinned}: size ${pin.size}` }
}

/** A proof that cannot be held against what was seen before can be had again, so that it can. */
const NEXT: Readonly<Record<string, readonly string[]>> = {
  consistency_missing: ['npx cairn name show NAME --proof FILE'],
  older_than_pin: ['npx cairn name show NAME --proof FILE'],
  too_old: ['npx cairn name show NAME --proof FILE'],
}

function formatFinding(finding: Finding): string {
  const { version, hash } = finding.head
  if (finding.type === 'version') return `version ${version} is ${hash}`
  const { name, item } = finding
  return item === null
    ? `${name} does not exist at version ${version}`
    : `${name} means ${item.manifest} at version ${version}`
}

function resultOf(finding: Finding): Readonly<Record<string, unknown>> {
  const { version, hash } = finding.head
  if (finding.type === 'version') return { version, hash, items: finding.artifact.payload.items }
  return { version, hash, name: finding.name, manifest: finding.item?.manifest ?? null, item: finding.item }
}
