/**
 * Completes package-lock.json after `npm install`.
 *
 * A prebuilt package names one optional dependency for each platform. npm leaves those it could not
 * look up out of the lockfile, and `npm ci` then refuses the file as out of step. A partial registry
 * mirror is enough to cause this. Each missing entry is added with the exact version its parent asks
 * for and the platform its name states, so `npm ci` passes over it everywhere else.
 */
import { readFileSync, writeFileSync } from 'node:fs'

interface Entry {
  version?: string
  dev?: boolean
  optional?: boolean
  os?: string[]
  cpu?: string[]
  libc?: string[]
  optionalDependencies?: Record<string, string>
}

const SYSTEMS = ['android', 'darwin', 'freebsd', 'linux', 'openharmony', 'sunos', 'win32', 'aix', 'netbsd', 'openbsd']
const PROCESSORS = ['arm64', 'arm', 'ia32', 'ppc64', 'riscv64', 'loong64', 's390x', 'x64', 'wasm32']

/** The platform a prebuilt package states in its name, as npm's `os`, `cpu` and `libc` fields. */
function platformOf(name: string): Pick<Entry, 'os' | 'cpu' | 'libc'> {
  const words = name.split(/[-/@]/)
  const cpu = words.includes('wasm32') || words.includes('wasi') ? 'wasm32' : PROCESSORS.find((p) => words.includes(p))
  const os = SYSTEMS.find((s) => words.includes(s)) ?? (words.includes('win') ? 'win32' : undefined)
  if (cpu === undefined && os === undefined)
    throw new Error(`${name}: no platform in its name; add it to the lockfile by hand`)
  return {
    ...(cpu === undefined ? {} : { cpu: [cpu] }),
    ...(os === undefined ? {} : { os: [os] }),
    ...(words.includes('musl') || words.includes('musleabihf') ? { libc: ['musl'] } : {}),
  }
}

const lockfile = new URL('../../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(lockfile, 'utf8')) as { packages: Record<string, Entry> }
const added: string[] = []
for (const entry of Object.values(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (Object.keys(lock.packages).some((key) => key.endsWith(`node_modules/${name}`))) continue
    lock.packages[`node_modules/${name}`] = {
      version: range.replace(/^[~^]/, ''),
      ...(entry.dev === true ? { dev: true } : {}),
      optional: true,
      ...platformOf(name),
    }
    added.push(name)
  }
}
lock.packages = Object.fromEntries(Object.entries(lock.packages).sort(([a], [b]) => (a < b ? -1 : 1)))
writeFileSync(lockfile, `${JSON.stringify(lock, null, 2)}\n`)
process.stdout.write(`package-lock.json: ${added.length} platform entries added\n`)
