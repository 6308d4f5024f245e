/**
 * `cairn verify PATH --proof FILE`: whether what lies on disk is what a name means, without asking anybody.
 *
 *     proof ─▶ trust file, or what was seen before ─▶ the address the name means ─┐
 *     files ─▶ hashed as a put hashes them ─────────▶ the address they have ──────┴▶ equal?
 *     FILE.trees, if it is there ───────────────────▶ which files differ
 */
import { CairnError, isKind } from '@cairn/kernel'
import { type Finding, type NameItem, parseName } from '@cairn/names'
import { diffTrees, type TreeChange } from '@cairn/sdk'
import { type Address, spellCount, type TreeEntry } from '@cairn/wire'
import type { CommandArguments, CommandHandler } from './command.ts'
import { hashFile, hashTree } from './hash.ts'
import { localDirectory, type Skipped, targetStatOf } from './local-files.ts'
import { treesBeside, treesFrom } from './tree-listing.ts'
import { examineProof, outcomeOf, refusedOutcome, reportOutcome } from './verify-proof.ts'

export const verify: CommandHandler = async (context) => {
  const { given } = context
  const path = given.operands[0] ?? ''
  const proofPath = given.text('proof')
  if (proofPath === undefined)
    throw new CairnError('Malformed', 'What the name means is in its proof: name that with --proof FILE.', {
      code: 'usage',
    })
  const examined = await examineProof(context, proofPath)
  const proved = await outcomeOf(context, examined)
  const { verdict } = examined
  if (verdict.kind === 'consistent')
    return { ...proved, next: [`npx cairn verify ${path} --proof ${proofPath} --trust FILE`] }
  if (verdict.kind === 'refused') return proved
  const { name, item } = meaningIn(verdict.finding, given)
  const local = await hashPath(path)
  const { origin, checked, unchecked } = verdict
  const result = { path, proof: proofPath, name, kind: local.kind, address: local.id, expected: item.manifest }
  if (local.id === item.manifest && local.skipped.length === 0) {
    const says = `${path} is what ${name} means: ${local.id}`
    const report = reportOutcome(
      { verdict: 'verified', origin, says, checked, unchecked },
      { ...result, differences: [] },
    )
    return { ...report, message: says }
  }
  const { differences, warnings, next } = await compare(path, local, { name, item, proofPath })
  const lines = differences.slice(0, LINES_MAX).map(({ path: at, problem }) => `${at} ${problem}.`)
  if (differences.length > lines.length) lines.push(`And ${differences.length - lines.length} more; --json lists all.`)
  const head = `${path} is not what ${name} means: ${local.id} instead of ${item.manifest}.`
  const error = new CairnError('Integrity', [head, ...lines].join('\n'), { code: 'differs' })
  const report = { verdict: 'refused', origin, says: undefined, checked, unchecked } as const
  return { ...refusedOutcome(report, error, { ...result, differences }), warnings, next }
}

/** Of many differences the first, since a person reads them. */
const LINES_MAX = 40

interface ProvedMeaning {
  readonly name: string
  readonly item: NameItem
}

function meaningIn(finding: Finding, given: CommandArguments): ProvedMeaning {
  const text = given.text('name')
  const asked = text === undefined ? undefined : parseName(text)
  const items = finding.type === 'name' ? [finding.item] : finding.artifact.payload.items
  const named = items.filter((item): item is NameItem => item?.kind === 'name' && 'manifest' in item)
  const found = named.filter(({ id }) => asked === undefined || id === asked)
  const [item] = found
  if (item !== undefined && found.length === 1) return { name: item.id, item }
  const { version } = finding.head
  if (item !== undefined)
    throw new CairnError('Malformed', `Version ${version} gives several names a meaning; choose with --name NAME.`, {
      code: 'usage',
    })
  const subject = asked ?? (finding.type === 'name' ? finding.name : 'any name')
  throw new CairnError('Integrity', `The proof does not say that ${subject} means anything at version ${version}.`, {
    code: 'no_meaning',
  })
}

interface LocalObject {
  readonly kind: 'file' | 'tree'
  readonly id: Address
  readonly trees: ReadonlyMap<Address, readonly TreeEntry[]>
  /** What no tree can hold: nothing of what was signed. */
  readonly skipped: readonly Skipped[]
}

async function hashPath(path: string): Promise<LocalObject> {
  const trees = new Map<Address, readonly TreeEntry[]>()
  const skipped: Skipped[] = []
  if (!(await targetStatOf(path)).isDirectory()) {
    const { id } = await hashFile(path)
    return { kind: 'file', id, trees, skipped }
  }
  const { id } = await hashTree(localDirectory(path, { links: 'keep', skipped }), (_, entries, address) => {
    trees.set(address, entries)
  })
  return { kind: 'tree', id, trees, skipped }
}

interface Difference {
  readonly path: string
  /** What is wrong with it, as the end of a sentence. */
  readonly problem: string
}

interface Comparison {
  readonly differences: readonly Difference[]
  readonly warnings: readonly string[]
  readonly next: readonly string[]
}

async function compare(
  path: string,
  local: LocalObject,
  { name, item, proofPath }: ProvedMeaning & { readonly proofPath: string },
): Promise<Comparison> {
  const strangers = local.skipped.map(({ path: at, why }) => ({ path: at, problem: `is not part of ${name}: ${why}` }))
  if (local.kind === 'file') return { differences: strangers, warnings: [], next: [] }
  const treesPath = treesBeside(proofPath)
  const read = await treesFrom(treesPath)
  if (read === undefined) {
    const warnings = [`which files differ is not known: there is no ${treesPath}`]
    return { differences: strangers, warnings, next: [`npx cairn name show ${name} --proof FILE --trees`] }
  }
  try {
    // What is here lists itself; what both have is looked at once.
    const either = (address: Address) => local.trees.get(address) ?? read(address)
    const changes = await diffTrees(either, item.manifest, local.id)
    const differences = [...changes.flatMap((change) => differencesOf(path, name, change)), ...strangers]
    const warnings =
      differences.length === 0
        ? ['no file differs: an empty directory does, or a media type that was signed and that no disk keeps']
        : [`${spellCount(differences.length, 'difference')}, by ${treesPath}`]
    return { differences, warnings, next: [] }
  } catch (error) {
    if (!isKind(error, 'NotFound')) throw error
    return { differences: strangers, warnings: [`which files differ is not known: ${error.message}`], next: [] }
  }
}

function differencesOf(root: string, name: string, { path, before, after }: TreeChange): readonly Difference[] {
  const at = path === '' ? root : `${root}/${path}`
  if (after === undefined) return [{ path: at, problem: 'is missing' }]
  if (before === undefined) return [{ path: at, problem: `is not part of ${name}` }]
  if (before.kind === 'link') return [{ path: at, problem: `is not the link to ${before.target} that it has to be` }]
  if (after.kind === 'link') return [{ path: at, problem: `is a link to ${after.target} and no file` }]
  const [had, has] = [isExecutable(before), isExecutable(after)]
  return [
    ...(before.id === after.id ? [] : [{ path: at, problem: `has other bytes than in ${name}` }]),
    ...(had && !has ? [{ path: at, problem: 'is not executable and has to be' }] : []),
    ...(has && !had ? [{ path: at, problem: 'is executable and must not be' }] : []),
  ]
}

function isExecutable(entry: TreeEntry): boolean {
  return entry.kind === 'file' && entry.executable === true
}
