/** Programs of others that judge what is in `deploy/`. */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))

function absentOf(programs: readonly string[]): string | undefined {
  const absent = programs.filter(
    (program) => spawnSync(program, ['--version'], { stdio: 'ignore' }).error !== undefined,
  )
  return absent.length === 0 ? undefined : absent.join(', ')
}

/** Why a test that needs the programs cannot run; false when it can. Continuous integration installs them: `.ci/tools`. */
export function skipWithout(...programs: readonly string[]): string | false {
  const absent = absentOf(programs)
  return absent === undefined ? false : `tool absent: ${absent}`
}

/** The same of programs that continuous integration may do without. */
export function skipUnlessThere(...programs: readonly string[]): string | false {
  const absent = absentOf(programs)
  return absent === undefined ? false : `not installed: ${absent}`
}

export interface Said {
  readonly code: number | null
  readonly text: string
}

export function run(program: string, args: readonly string[], cwd: string = REPOSITORY): Said {
  const { status, stdout, stderr, error } = spawnSync(program, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  return { code: status, text: `${stdout}${stderr}` }
}

/** A directory with these files, gone at the end of the block. */
export class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), 'cairn-deploy-'))

  constructor(files: Readonly<Record<string, string>> = {}) {
    for (const [name, content] of Object.entries(files)) writeFileSync(join(this.path, name), content)
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}
