/**
 * Which tool finds which planted fault.
 *
 *     node verify/sensitivity/main.ts                 what is not known yet, and the table in results.md
 *     node verify/sensitivity/main.ts --seconds 250   the same, beginning nothing new after so long
 *     node verify/sensitivity/main.ts ID…             these again
 *     node verify/sensitivity/main.ts --revision X    of that tree, not of the newest
 *     node verify/sensitivity/main.ts --part 2/3      every third, beginning with the second: several side by side
 *     node verify/sensitivity/main.ts --only cluster     this tool alone
 *     node verify/sensitivity/main.ts --again         what the cluster says now, in a column of its own
 *     node verify/sensitivity/main.ts --table         the table alone
 *
 * `in-models`, `in-simulators` and `in-cluster` are what it starts in the tree with the plant.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import type { ModelGroup } from './explore.ts'
import { PLANTED_FAULTS, type PlantedFault } from './planted-faults.ts'
import {
  CONTROL,
  DOCUMENT,
  firstFinder,
  forgetRow,
  keepAgain,
  keepVerdict,
  readResults,
  renderDocument,
} from './results.ts'
import type { Simulator } from './simulate.ts'
import { CLUSTER_BOUNDS, type Reach, reachOf, runTool, SEED_BOUNDS, TOOLS, type Tool, type Verdict } from './tools.ts'
import { Tree } from './tree.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    seconds: { type: 'string' },
    revision: { type: 'string', default: 'HEAD' },
    part: { type: 'string', default: '1/1' },
    only: { type: 'string' },
    again: { type: 'boolean', default: false },
    table: { type: 'boolean', default: false },
  },
})

/** Of the tools, once the simulators have had their say. */
const QUICKEST_FIRST: readonly Tool[] = ['models', 'simulators', 'cluster', 'tests', 'campaigns']

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

const [word, ...rest] = positionals
// Loaded where they are needed: each of them loads a good part of the tree, and the cluster is not in every tree.
if (word === 'in-models') {
  const { exploreGroups } = await import('./explore.ts')
  finish(await exploreGroups(rest as ModelGroup[]))
} else if (word === 'in-cluster') {
  const { simulateClusters } = await import('./cluster.ts')
  finish(await simulateClusters(CLUSTER_BOUNDS, say))
} else if (word === 'in-simulators') {
  const { simulateSeeds } = await import('./simulate.ts')
  const { complaint } = await simulateSeeds(rest as Simulator[], SEED_BOUNDS, say)
  finish(complaint)
} else {
  if (!values.table) await judgeAll(positionals, Number(values.seconds ?? Number.POSITIVE_INFINITY))
  writeFileSync(DOCUMENT, renderDocument(readResults()))
}

function finish(complaint: string | undefined): void {
  if (complaint !== undefined) say(`found: ${complaint.replaceAll('\n', ' ')}`)
  process.exit(complaint === undefined ? 0 : 1)
}

/** Goes on where the last run stopped; plants that are named begin anew. */
async function judgeAll(ids: readonly string[], secondsMax: number): Promise<void> {
  const endsAt = performance.now() + 1000 * secondsMax
  const unknown = ids.find((id) => !PLANTED_FAULTS.some((planted) => planted.id === id))
  if (unknown !== undefined)
    throw new Error(`There is no plant ${unknown}; verify/sensitivity/planted-faults.ts has them all.`)
  if (values.only === undefined && !values.again) for (const id of ids) forgetRow(id)
  using tree = new Tree(values.revision)
  const [part = 1, parts = 1] = values.part.split('/').map(Number)
  const mine = PLANTED_FAULTS.filter((_, at) => at % parts === part - 1)
  const chosen = mine.filter(({ id }) => ids.length === 0 || ids.includes(id))
  if (values.again) return await judgeAgain(tree, chosen, endsAt)
  // What the simulators say of all of them first: it is what is most worth knowing if time is short.
  for (const isShort of [true, false]) {
    for (const planted of chosen) {
      for (let tool = nextTool(planted, tree); tool !== undefined; tool = nextTool(planted, tree)) {
        if (isShort && (tool === 'campaigns' || tool === 'tests')) break
        if (performance.now() > endsAt) return
        const verdict = await judge(tree, planted, tool, endsAt)
        if (verdict === undefined) return
        say(`${planted.id}: ${tool} ${JSON.stringify(verdict)}`)
        keepVerdict(planted.id, tree.revision, tool, verdict)
      }
    }
  }
}

/** The cluster has become stricter since it was first asked: those it has not been asked about again. */
async function judgeAgain(tree: Tree, plantedFaults: readonly PlantedFault[], endsAt: number): Promise<void> {
  for (const planted of plantedFaults) {
    if (readResults()[planted.id]?.again?.revision === tree.revision) continue
    if (performance.now() > endsAt) return
    const verdict = await judge(tree, planted, 'cluster', endsAt)
    if (verdict === undefined) return
    say(`${planted.id}: cluster ${JSON.stringify(verdict)}`)
    keepAgain(planted.id, tree.revision, verdict)
  }
}

/** The simulators are always run; of the others, whichever is first to find it ends the search. */
function nextTool({ id }: PlantedFault, { hasSimulator }: Tree): Tool | undefined {
  const verdicts = readResults()[id]?.verdicts ?? {}
  const only = TOOLS.find((tool) => tool === values.only)
  if (only !== undefined) return verdicts[only] === undefined ? only : undefined
  if (verdicts.models === undefined) return 'models'
  if (verdicts.simulators === undefined) return 'simulators'
  if (verdicts.cluster === undefined && hasSimulator) return 'cluster'
  if (firstFinder(verdicts) !== undefined) return undefined
  return QUICKEST_FIRST.find((tool) => tool !== 'cluster' && verdicts[tool] === undefined)
}

/**
 * What depends on the time counts only if it is content with the tree as it was committed: campaigns over sockets, and
 * whatever does not end. Models, seeds and tests were content with that before it was committed. Nothing if time is over.
 */
async function judge(tree: Tree, planted: PlantedFault, tool: Tool, endsAt: number): Promise<Verdict | undefined> {
  const reach = reachOf(planted.file)
  const run = async (): Promise<Verdict> => await tree.with(planted, async () => await runTool(tool, reach, tree.root))
  const verdict = await run()
  // What happens over sockets and in real time may happen by chance: then it does not happen again.
  if (tool === 'campaigns' && verdict.tag === 'found' && (await run()).tag === 'missed')
    return { tag: 'missed', seconds: verdict.seconds }
  if (verdict.tag !== 'late' && (verdict.tag !== 'found' || tool !== 'campaigns')) return verdict
  const control = await controlOf(tree, tool, reach, endsAt)
  if (control === undefined) return undefined
  if (control.tag === 'found') throw new Error(`The ${tool} complain without ${planted.id} as well: ${control.says}`)
  // What takes too long with the plant, and long without it, says nothing.
  const isQuick = control.tag === 'missed' && control.seconds < verdict.seconds / 2
  return verdict.tag === 'late' && !isQuick ? verdict : { ...verdict, tag: 'found' }
}

async function controlOf(tree: Tree, tool: Tool, reach: Reach, endsAt: number): Promise<Verdict | undefined> {
  const name = `${CONTROL} ${tree.revision}: ${reach[tool].join(' ')}`
  const known = readResults()[name]?.verdicts[tool]
  if (known !== undefined) return known
  if (performance.now() > endsAt) return undefined
  const verdict = await runTool(tool, reach, tree.root)
  say(`${name}: ${JSON.stringify(verdict)}`)
  keepVerdict(name, tree.revision, tool, verdict)
  return verdict
}
