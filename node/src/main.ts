/** `cairn start`: a node, from its flags to its exit code. */
import { execFile } from 'node:child_process'
import { keepHeapSmall, RealProcess } from '@cairn/platform'
import { readStartFlags, type StartOptions } from './flags.ts'
import { openNode } from './open.ts'
import type { NodeStatus } from './routes.ts'
import { SERVICES } from './services.ts'
import { SignalRelay } from './signal-relay.ts'

/**
 * Tells systemd, where it started this process with `Type=notify`, that the node serves. Node has no sockets of the kind
 * systemd listens on, so its own program carries the word.
 */
export function notifyServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  onTold: (error: Error | undefined) => void,
): void {
  if (environment['NOTIFY_SOCKET'] === undefined) return
  execFile(
    'systemd-notify',
    ['--ready', `--pid=${process.pid}`],
    { timeout: 5000, env: { ...environment } },
    (error) => {
      onTold(error ?? undefined)
    },
  )
}

/** What a person sees when the node is ready, and what a program reads instead. */

export interface ReadyFacts {
  readonly status: NodeStatus
  readonly nodeVersion: string
  readonly startedInMs: number
  /** Only in amnesia, where there is no file to read it from. */
  readonly token: string | undefined
  /** Signs in to the console, once; only where a person reads it at a terminal. */
  readonly signInUrl: string
}

export interface ReadyEvent {
  readonly event: 'ready'
  readonly version: string
  readonly pid: number
  readonly data: string
  readonly kept: boolean
  /** Where each service listens, by its name; the node itself is one of them. */
  readonly urls: Readonly<Record<string, readonly string[]>>
  readonly started_in_ms: number
}

export function banner({ status, nodeVersion, startedInMs, token, signInUrl }: ReadyFacts): string {
  const width = Math.max(8, ...status.services.map(({ name }) => name.length))
  const services = status.services.flatMap(({ name, ready, missing, concerns, summary }) => [
    `  ${ready && concerns.length === 0 ? '✔' : '…'} ${name.padEnd(width)}  ${ready ? summary : `waiting for ${missing.join(', ')}`}`,
    ...concerns.map((concern) => `    ${' '.repeat(width)}  ${concern}`),
  ])
  const [url = ''] = status.urls
  const data = status.kept ? `${status.data} (kept)` : 'in memory (nothing survives a stop)'
  const next = status.kept ? 'npx cairn status' : `npx cairn status --node ${url} --token-file FILE`
  const where = status.kept ? `Token  ${status.data}/admin.token` : ''
  return [
    `cairn ${status.version} · node ${nodeVersion} · pid ${status.pid}`,
    '',
    ...services,
    ...(services.length === 0 ? [] : ['']),
    `  Console  ${signInUrl}`,
    `  Node     ${url}`,
    `  Data     ${data.padEnd(24)} ${where}`.trimEnd(),
    ...(token === undefined ? [] : [`  Token    ${token}`]),
    `  ${isLocal(status) ? 'Loopback only.' : 'Open to other machines.'} No telemetry. Ready in ${(startedInMs / 1000).toFixed(1)} s.   Next:  ${next}`,
    '',
  ].join('\n')
}

/** Whether only this machine reaches it. */
function isLocal({ urls, services }: NodeStatus): boolean {
  const all = [...urls, ...services.flatMap((service) => service.urls)]
  return all.every((url) => /^unix:|^https?:\/\/(?:127\.|\[::1\])/.test(url))
}

/** For whoever started us without a terminal. */
export function readyEvent({ status, startedInMs }: ReadyFacts): ReadyEvent {
  const urls = Object.fromEntries(status.services.map((service) => [service.name, service.urls]))
  const { version, pid, data, kept } = status
  return {
    event: 'ready',
    version,
    pid,
    data,
    kept,
    urls: { node: status.urls, ...urls },
    started_in_ms: Math.round(startedInMs),
  }
}

/** A task failed too often: the code that tells a service manager to start us again. */
const EXIT_FATAL = 70
/** Told to stop a second time: what was under way did not finish. */
const EXIT_INTERRUPTED = 130

export interface NodeWatcher {
  /** Somebody reads the log as it comes: text instead of JSON lines. */
  readonly isTerminal: boolean
  /** Every service has answered its own probe. */
  onReady(facts: ReadyFacts): void
}

/** Runs a node until it is told to stop; returns the exit code. Throws, with nothing left behind, if it cannot start. */
export async function runNode(options: StartOptions, watcher: NodeWatcher): Promise<number> {
  keepHeapSmall()
  const host = new RealProcess()
  using signals = new SignalRelay(host, EXIT_INTERRUPTED)
  const { isTerminal } = watcher
  const flags = readStartFlags(options, host.environment, SERVICES)
  const { node, machine } = await openNode(flags, { environment: host.environment, services: SERVICES, isTerminal })
  await using _machine = machine
  signals.pass(node)
  await node.start(flags.modules)
  watcher.onReady({
    status: await node.status(),
    nodeVersion: process.versions.node,
    startedInMs: machine.node.platform.clock.now(),
    token: flags.amnesia ? await node.adminToken() : undefined,
    signInUrl: watcher.isTerminal
      ? `${node.consoleUrl()}#signin=${node.console.sessions.mintCode().code}`
      : node.consoleUrl(),
  })
  notifyServiceManager(host.environment, (error) => {
    if (error !== undefined)
      machine.node.platform.log.warn({ error: error.message }, 'systemd was not told that the node is ready')
  })
  await node.stopRequested()
  const { aborted, abandoned } = await node.stop()
  machine.node.platform.log.info({ aborted, abandoned }, 'stopped')
  if (node.hasFailed) return EXIT_FATAL
  return node.wasAborted ? EXIT_INTERRUPTED : 0
}
