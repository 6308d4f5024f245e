/** `cairn doctor`: whether a node can run well here, line by line, each with its remedy. Works with the node down. */

import { readFile, stat } from 'node:fs/promises'
import { createServer } from 'node:net'
import { type ListenConfig, parseBindAddress } from '@cairn/http'
import { CairnError, Cancel, type Clock, Deadline, type ErrorKind, SystemClock } from '@cairn/kernel'
import { configSchemas, type NodeStatus, SERVICES } from '@cairn/node'
import { type ConfigSchemas, type Loaded, loadConfig, renderProblems } from '@cairn/platform'
import { spellCount } from '@cairn/wire'
import { BACKUP_RECORD, readBackupRecord } from './backup.ts'
import { type CommandContext, type CommandHandler, dataFlag, dataPath } from './command.ts'
import { sourcesOf } from './config.ts'
import { checkDrive, checkFiles } from './doctor-host.ts'
import { checkJournals, checkKeys, checkOutside } from './doctor-witnesses.ts'
import { withNode } from './node-admin.ts'

// What `cairn doctor` looks at. A check says what it saw; one that is not content says what to do as well.

interface DoctorFinding {
  readonly check: string
  readonly state: 'good' | 'warn' | 'bad'
  readonly says: string
  /** What to do about it. */
  readonly remedy?: string
  /** What the exit code follows from, where it is bad. */
  readonly error?: { readonly kind: ErrorKind; readonly code: string }
}

export type Look = Omit<DoctorFinding, 'check'>

export interface Scene {
  readonly data: string
  /** The data directory as the user would have to name it again. */
  readonly flag: string
  readonly loaded: Loaded<ConfigSchemas>
  /** Of the running node, or why it does not answer. */
  readonly status: NodeStatus | CairnError
  readonly clock: Clock
  readonly environment: Readonly<Record<string, string | undefined>>
}

const DAY_MS = 24 * 60 * 60 * 1000
const BACKUP_OLD_MS = 7 * DAY_MS
/** What tokens and records of others are judged by. */
const SKEW_MS = 60_000
const PEER_MS = 3000
/** This program is younger. */
const EPOCH_MS = Date.UTC(2026, 0, 1)
const NODE_OLDEST = [24, 6] as const
/** Where npm puts the Node of the dependencies, which others than the Node project have packed. */
const IS_FROM_NPM = /[\\/]node_modules[\\/](?:cairnd-node|node|node-bin)-(?:linux|darwin|win32|win)-/

const CHECKS: readonly { readonly name: string; readonly look: (scene: Scene) => Promise<Look> }[] = [
  { name: 'runtime', look: async () => await Promise.resolve(checkRuntime(process.versions.node)) },
  { name: 'config', look: async (scene) => await Promise.resolve(checkConfig(scene)) },
  { name: 'data', look: checkData },
  { name: 'keys', look: checkKeys },
  { name: 'drive', look: checkDrive },
  { name: 'node', look: async (scene) => await Promise.resolve(checkNode(scene)) },
  { name: 'journals', look: checkJournals },
  { name: 'outside', look: checkOutside },
  { name: 'ports', look: checkPorts },
  { name: 'files', look: checkFiles },
  { name: 'clock', look: checkClock },
  { name: 'peers', look: checkPeers },
  { name: 'backup', look: checkBackup },
]

function checkRuntime(version: string): Look {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isNewEnough = major > NODE_OLDEST[0] || (major === NODE_OLDEST[0] && minor >= NODE_OLDEST[1])
  if (isNewEnough) {
    const origin = IS_FROM_NPM.test(process.execPath)
      ? '; from npm, its sum pinned, not verified against nodejs.org'
      : ''
    return { state: 'good', says: `node ${version}, ${process.platform} ${process.arch}${origin}` }
  }
  const error = { kind: 'Malformed', code: 'runtime' } as const
  return { state: 'bad', says: `node ${version} is older than ${NODE_OLDEST.join('.')}`, remedy: 'npm ci', error }
}

function checkConfig({ loaded }: Scene): Look {
  if (loaded.tag === 'refused') {
    const says = renderProblems(loaded.problems).replaceAll('\n', '\n            ')
    return { state: 'bad', says, remedy: 'npx cairn config validate', error: { kind: 'Malformed', code: 'config' } }
  }
  const set = Object.values(loaded.origins).filter((origin) => origin !== 'default').length
  return { state: 'good', says: set === 0 ? 'valid, everything by default' : `valid, ${set} set` }
}

async function checkData({ data, flag }: Scene): Promise<Look> {
  const integrity = { kind: 'Integrity', code: 'data_format' } as const
  try {
    const { mode } = await stat(data)
    if ((mode & 0o077) !== 0) {
      const says = `${data} is open to others, and its keys with it`
      return { state: 'bad', says, remedy: `chmod 700 ${data}`, error: { kind: 'RejectPolicy', code: 'data_open' } }
    }
    const format = await readFile(`${data}/format`, 'latin1')
    if (format === 'cairn-data 1\n') return { state: 'good', says: `${data}, format 1` }
    const says = `${data}/format says ${JSON.stringify(format.slice(0, 40))}, and this cairn reads format 1`
    return { state: 'bad', says, remedy: 'npx cairn backup restore BACKUP --data DIR', error: integrity }
  } catch (error) {
    if (!isAbsent(error)) {
      const says = error instanceof Error ? error.message : String(error)
      return { state: 'bad', says, remedy: `ls -ld ${data}`, error: { kind: 'Internal', code: 'disk_denied' } }
    }
    return { state: 'good', says: `${data} is not there yet; \`npx cairn start${flag}\` makes it` }
  }
}

function checkNode({ status, flag }: Scene): Look {
  if (!(status instanceof CairnError)) {
    const waiting = status.services.filter(({ ready }) => !ready)
    if (waiting.length === 0) return degradedOr(status, flag, `pid ${status.pid}, every service is ready`)
    const says = waiting.map(describeNotReady).join('; ')
    const error = { kind: 'StorageBusy', code: 'not_ready' } as const
    return { state: 'bad', says, remedy: `npx cairn status${flag}`, error }
  }
  if (status.code === 'unreachable') return { state: 'good', says: 'not running' }
  return {
    state: 'bad',
    says: status.message,
    remedy: `npx cairn token inspect${flag}`,
    error: { kind: status.kind, code: status.code },
  }
}

function describeNotReady({ name, missing, concerns }: NodeStatus['services'][number]): string {
  return [`${name} waits for ${missing.join(', ')}`, ...concerns].join(': ')
}

/** Ready is not well: what `/readyz` calls degraded is told here with its reason. */
function degradedOr({ services }: NodeStatus, flag: string, good: string): Look {
  const says = services.flatMap(({ name, concerns }) => concerns.map((concern) => `${name}: ${concern}`)).join(' ')
  const notices = services.flatMap(({ name, notices: own = [] }) => own.map((notice) => `${name}: ${notice}`)).join(' ')
  if (says === '' && notices !== '') return { state: 'warn', says: notices, remedy: `npx cairn scrub${flag} --wait` }
  if (says === '') return { state: 'good', says: good }
  const error = { kind: 'StorageBusy', code: 'degraded' } as const
  return { state: 'bad', says: `${says} ${notices}`.trimEnd(), remedy: `npx cairn status${flag}`, error }
}

async function checkPorts({ loaded, status, flag }: Scene): Promise<Look> {
  if (loaded.tag === 'refused') return notLooked('what they are is not known before the configuration is valid')
  const running = status instanceof CairnError ? [] : ['node', ...status.services.map(({ name }) => name)]
  const wanted = Object.entries(loaded.values as Readonly<Record<string, ListenConfig>>)
    .filter(([name]) => !running.includes(name))
    .map(([name, { bind_addr }]) => ({ name, text: bind_addr, ...parseBindAddress(bind_addr) }))
  const taken: string[] = []
  for (const { name, text, host, port } of wanted) {
    const why = await cannotListen(host, port)
    if (why !== undefined) taken.push(`${text} for ${name} (${why})`)
  }
  const { length } = running
  if (taken.length === 0)
    return { state: 'good', says: length === 0 ? `${wanted.length} free` : 'answered by the running node' }
  return {
    state: 'bad',
    says: `cannot be opened: ${taken.join(', ')}`,
    remedy: `npx cairn start${flag} --port-base 8070`,
    error: { kind: 'Conflict', code: 'cannot_listen' },
  }
}

async function cannotListen(host: string, port: number): Promise<string | undefined> {
  return await new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error) => resolve('code' in error ? String(error.code) : error.message))
    server.listen(port, host, () => {
      server.close(() => resolve(undefined))
    })
  })
}

async function checkClock({ clock, data, loaded }: Scene): Promise<Look> {
  const now = clock.wall()
  const remedy = 'timedatectl set-ntp true'
  if (now < EPOCH_MS) {
    const says = `it says ${isoOf(now)}, which is long over: every token with an end would be refused`
    return { state: 'bad', says, remedy, error: { kind: 'Conflict', code: 'clock' } }
  }
  const written = await newestOf([`${data}/admin.token`, `${data}/format`, `${data}/registry/HEAD`, `${data}/storage`])
  if (written > now + SKEW_MS) {
    const says = `it says ${isoOf(now)}, and the data was last written at ${isoOf(written)}: it was set back`
    return { state: 'bad', says, remedy, error: { kind: 'Conflict', code: 'clock' } }
  }
  const others = await Promise.all(peersOf(loaded).map(async (url) => await askPeer(clock, url)))
  const apart = others.flatMap(({ url, skewMs }) => {
    return skewMs !== undefined && Math.abs(skewMs) > SKEW_MS ? [`${Math.round(skewMs / 1000)} s from ${url}`] : []
  })
  if (apart.length > 0) return { state: 'warn', says: `${isoOf(now)}, ${apart.join(', ')}`, remedy }
  const asked = others.filter(({ skewMs }) => skewMs !== undefined).length
  const beside = asked === 0 ? 'no peer to compare with' : `within a minute of ${spellCount(asked, 'peer')}`
  return { state: 'good', says: `${isoOf(now)}, ${beside}` }
}

async function newestOf(paths: readonly string[]): Promise<number> {
  const times = await Promise.all(
    paths.map(async (path) => {
      try {
        return (await stat(path)).mtimeMs
      } catch {
        return 0
      }
    }),
  )
  return Math.max(...times)
}

async function checkPeers({ loaded, clock, flag }: Scene): Promise<Look> {
  if (loaded.tag === 'refused') return notLooked('whom to ask is not known before the configuration is valid')
  const urls = peersOf(loaded)
  if (urls.length === 0) return { state: 'good', says: 'none configured: this node stands alone' }
  const answers = await Promise.all(urls.map(async (url) => await askPeer(clock, url)))
  const silent = answers.filter(({ skewMs }) => skewMs === undefined)
  if (silent.length === 0) return { state: 'good', says: `all ${urls.length} answer` }
  const says = `${silent.length} of ${urls.length} do not answer: ${silent.map(({ url, why }) => `${url} (${why})`).join(', ')}`
  const error = { kind: 'Timeout', code: 'peer_down' } as const
  return { state: 'bad', says, remedy: `npx cairn peers${flag}`, error }
}

/** Every URL the configuration lets the node ask. */
function peersOf(loaded: Scene['loaded']): readonly string[] {
  if (loaded.tag === 'refused') return []
  const { node, index, storage } = loaded.values as Readonly<Record<string, Readonly<Record<string, unknown>>>>
  const found: string[] = []
  const gather = (value: unknown): void => {
    if (typeof value === 'string' && /^https?:/.test(value)) found.push(value)
    else if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) gather(inner)
  }
  for (const part of [node?.['neighbours'], index?.['dht'], index?.['registry'], storage?.['peers']]) gather(part)
  return [...new Set(found)]
}

interface PeerAnswer {
  readonly url: string
  /** Its clock less ours; nothing if it does not answer. */
  readonly skewMs: number | undefined
  readonly why: string
}

async function askPeer(clock: Clock, url: string): Promise<PeerAnswer> {
  using cancel = new Cancel({ deadline: Deadline.after(clock, PEER_MS) })
  try {
    const response = await fetch(new URL('/version', url), { signal: cancel.signal })
    await response.body?.cancel()
    const date = Date.parse(response.headers.get('date') ?? '')
    return { url, skewMs: Number.isNaN(date) ? 0 : date - clock.wall(), why: '' }
  } catch (error) {
    const { cause } = error instanceof Error ? error : {}
    const why = cause instanceof Error && 'code' in cause ? String(cause.code) : 'no answer'
    return { url, skewMs: undefined, why }
  }
}

async function checkBackup({ data, clock, flag }: Scene): Promise<Look> {
  const remedy = `npx cairn backup create DIR${flag}`
  if ((await newestOf([`${data}/format`])) === 0) return { state: 'good', says: 'nothing to back up yet' }
  const record = await readBackupRecord(data)
  if (record === undefined)
    return { state: 'warn', says: `none was made (${data}/${BACKUP_RECORD} is not there)`, remedy }
  const ageMs = clock.wall() - record.completed_at
  const says = `the last one is from ${isoOf(record.completed_at)}, in ${record.path}`
  return ageMs > BACKUP_OLD_MS
    ? { state: 'warn', says: `${says}: ${Math.floor(ageMs / DAY_MS)} days ago`, remedy }
    : { state: 'good', says }
}

function notLooked(says: string): Look {
  return { state: 'warn', says, remedy: 'npx cairn config validate' }
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z')
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT'
}

const SIGNS = { good: '✔', warn: '…', bad: '✖' } as const

export const doctor: CommandHandler = async (context) => {
  const scene = await sceneOf(context)
  const findings: DoctorFinding[] = []
  // One after the other: what one check does to the drive is not to show in the time another measures.
  for (const { name, look } of CHECKS) findings.push({ check: name, ...(await look(scene)) })
  const bad = findings.filter(({ state }) => state === 'bad')
  const warned = findings.filter(({ state }) => state === 'warn')
  const outcome = { result: { findings }, data: screen(findings) }
  const [first] = bad
  if (first === undefined) {
    const rest = warned.length === 0 ? '' : `; look at ${warned.map(({ check }) => check).join(', ')}`
    return { ...outcome, message: `nothing stands in the way${rest}` }
  }
  const { kind, code } = first.error ?? { kind: 'Internal', code: 'unhealthy' }
  const detail = `Not well: ${bad.map(({ check }) => check).join(', ')}.`
  const next = bad.flatMap(({ remedy }) => (remedy === undefined ? [] : [remedy]))
  return { ...outcome, error: new CairnError(kind, detail, { code }), next: [...new Set(next)] }
}

async function sceneOf(context: CommandContext): Promise<Scene> {
  const { given, terminal } = context
  const loaded = await loadConfig(configSchemas(SERVICES), sourcesOf(context, given.text('config')))
  const data = dataPath(given, terminal.environment)
  const { environment } = terminal
  const status = await statusOf(context)
  return { data, flag: dataFlag(given), loaded, status, clock: new SystemClock(), environment }
}

/** Of the node, or why there is none to be had. */
async function statusOf(context: CommandContext): Promise<NodeStatus | CairnError> {
  try {
    return await withNode(context, async (node) => await node.status())
  } catch (error) {
    if (error instanceof CairnError) return error
    throw error
  }
}

function screen(findings: readonly DoctorFinding[]): string {
  const width = Math.max(...findings.map(({ check }) => check.length))
  const lines = findings.flatMap(({ check, state, says, remedy }) => [
    `${SIGNS[state]} ${check.padEnd(width)}  ${says}`,
    ...(remedy === undefined ? [] : [`  ${' '.repeat(width)}  → ${remedy}`]),
  ])
  return `${lines.join('\n')}\n`
}
