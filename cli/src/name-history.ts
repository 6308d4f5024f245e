/** `cairn name show|log`: what names mean, what they meant, and who said so. */
import type { NamedItem } from '@cairn/clients'
import { CairnError, isKind } from '@cairn/kernel'
import { type Artifact, headOf, isRelease, parseName } from '@cairn/names'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { mustBeNew, writeFileWhole } from './local-files.ts'
import { connectionFlags, formatInstant, formatItems, formatRows } from './registry-format.ts'
import { readPin } from './registry-pins.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { treesBeside, writeTrees } from './tree-listing.ts'

const LIMIT_DEFAULT = 20
/** What the registry lists at once. */
const LIMIT_MAX = 1000

/** What a name means, now or at a version, with who approved it; and the proof of it, where one is asked for. */
export const show: CommandHandler = async (context) => {
  const { given } = context
  const name = parseName(given.operands[0] ?? '')
  const at = versionOf(context, 'at')
  const proofPath = given.text('proof')
  const treesPath = treesPathOf(given)
  for (const path of [proofPath, treesPath]) if (path !== undefined) await mustBeNew(path)
  return await withRegistry(context, async (registry) => {
    const found = await registry.client.name(name, at, registry.call())
    if (proofPath !== undefined) await writeProof(context, registry, { name, at, found }, proofPath)
    if (found === undefined) throw nameNotFound(name, at)
    if (treesPath !== undefined) await writeTrees(context, found.item.manifest, treesPath)
    const artifact = await artifactOf(registry, found.version)
    return outcomeOf(context, found, artifact, proofPath)
  })
}

/** Beside the proof, where they are asked for. */
function treesPathOf(given: CommandContext['given']): string | undefined {
  if (!given.has('trees')) return undefined
  const proofPath = given.text('proof')
  if (proofPath === undefined)
    throw new CairnError('Malformed', '--trees writes a file beside the proof: name that with --proof FILE.', {
      code: 'usage',
    })
  return treesBeside(proofPath)
}

function outcomeOf(
  { given }: CommandContext,
  { item, version }: NamedItem,
  artifact: Artifact | undefined,
  proofPath: string | undefined,
): CommandOutcome {
  const { id: name, manifest, type } = item
  const approved = artifact === undefined ? undefined : approversOf(artifact)
  const committedAt = artifact === undefined ? undefined : formatInstant(artifact.committed_at)
  return {
    result: {
      name,
      manifest,
      kind: isRelease(item) ? 'release' : 'channel',
      type: type ?? null,
      item,
      version,
      committed_at: committedAt ?? null,
      approved: approved ?? null,
      proof: proofPath ?? null,
    },
    data: formatRows([
      ['name', name],
      ['manifest', manifest],
      ['kind', isRelease(item) ? 'release: its meaning never changes' : 'channel: it may be given another meaning'],
      ...(type === undefined ? [] : [['type', type] as const]),
      ['version', String(version)],
      ...(committedAt === undefined ? [] : [['committed', committedAt] as const]),
      ...(approved === undefined ? [] : [['approved by', approved.join(', ')] as const]),
    ]),
    ...(proofPath === undefined
      ? { message: 'as the registry says; nothing of it is proved here' }
      : { message: `its proof is in ${proofPath}` }),
    next:
      proofPath === undefined
        ? [`npx cairn name show ${name}${connectionFlags(given)} --proof FILE`]
        : [`npx cairn verify-proof ${proofPath} --trust FILE`],
  }
}

interface ShownName {
  readonly name: string
  readonly at: number | undefined
  readonly found: NamedItem | undefined
}

/** The proof of what the name means now; of an earlier meaning, the proof of the version that gave it. */
async function writeProof(
  context: CommandContext,
  registry: RegistryConnection,
  { name, at, found }: ShownName,
  path: string,
) {
  if (at !== undefined && found === undefined) throw nameNotFound(name, at)
  const subject = at === undefined || found === undefined ? { name } : { version: found.version }
  // Whoever remembers an earlier checkpoint of this log wants to see that this one continues it.
  const { origin } = await registry.client.head(registry.call())
  const pin = await readPin(context.terminal.environment, origin)
  await writeFileWhole(path, [await registry.client.proof(subject, pin?.size, registry.call())])
}

/** The versions of one name, or all of them, newest first. */
export const log: CommandHandler = async (context) => {
  const [operand] = context.given.operands
  const name = operand === undefined ? undefined : parseName(operand)
  return await withRegistry(context, async (registry) => {
    const limit = limitOf(context)
    const before = versionOf(context, 'before')
    const end = before ?? (await registry.client.head(registry.call())).version + 1
    const versions =
      name === undefined
        ? Array.from({ length: Math.min(limit, end) }, (_, at) => end - 1 - at)
        : await registry.client.history(name, end, limit, registry.call())
    if (name !== undefined && versions.length === 0)
      throw nameNotFound(name, before === undefined ? undefined : end - 1)
    const found: Artifact[] = []
    for (const version of versions) found.push(await registry.client.version(version, registry.call()))
    return logOutcome(context, found, name)
  })
}

function logOutcome({ given }: CommandContext, found: readonly Artifact[], name: string | undefined): CommandOutcome {
  const oldest = found.at(-1)
  const hasMore = oldest !== undefined && oldest.version > 0 && found.length === limitOf({ given })
  const lines = found.flatMap((artifact) => {
    const items = artifact.payload.items.filter(
      ({ kind, id }) => name === undefined || (kind === 'name' && id === name),
    )
    const head = `${artifact.version}  ${formatInstant(artifact.committed_at)}  ${approversOf(artifact).join(', ') || 'genesis'}\n`
    return [head, ...formatItems({ items }).map((line) => `    ${line}\n`)]
  })
  const page = name === undefined ? '' : ` ${name}`
  return {
    result: {
      versions: found.map((artifact) => ({
        ...headOf(artifact),
        committed_at: formatInstant(artifact.committed_at),
        approved: approversOf(artifact),
        items: artifact.payload.items,
        note: artifact.payload.note ?? null,
      })),
    },
    data: lines.join(''),
    next: hasMore ? [`npx cairn name log${page}${connectionFlags(given)} --before ${oldest.version}`] : [],
  }
}

/** Retention may have removed what a version was, but not what it made of a name. */
async function artifactOf({ client, call }: RegistryConnection, version: number): Promise<Artifact | undefined> {
  try {
    return await client.version(version, call())
  } catch (error) {
    if (isKind(error, 'NotFound') && error.status === 410) return undefined
    throw error
  }
}

function approversOf({ approvals }: Artifact): string[] {
  return approvals.filter(({ role }) => role === 'current').map(({ signer_id }) => signer_id)
}

function nameNotFound(name: string, at: number | undefined): CairnError {
  const when = at === undefined ? '' : ` at version ${at}`
  return new CairnError('NotFound', `The name ${name} does not exist${when}.`, { code: 'no_name' })
}

function versionOf({ given }: Pick<CommandContext, 'given'>, option: 'at' | 'before'): number | undefined {
  const text = given.text(option)
  return text === undefined ? undefined : wholeNumber(text, option, 0)
}

function limitOf({ given }: Pick<CommandContext, 'given'>): number {
  const text = given.text('limit')
  return text === undefined ? LIMIT_DEFAULT : Math.min(LIMIT_MAX, wholeNumber(text, 'limit', 1))
}

function wholeNumber(text: string, option: string, from: number): number {
  const value = /^\d{1,15}$/.test(text) ? Number(text) : -1
  if (value >= from) return value
  throw new CairnError('Malformed', `--${option} is a whole number from ${from} on; not ${text}.`, { code: 'usage' })
}
