/** What a person sees when the node is ready, and what a program reads instead. */
import type { NodeStatus } from './routes.ts'

export interface ReadyFacts {
  readonly status: NodeStatus
  readonly nodeVersion: string
  readonly startedInMs: number
  /** Only in amnesia, where there is no file to read it from. */
  readonly token: string | undefined
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

export function banner({ status, nodeVersion, startedInMs, token }: ReadyFacts): string {
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
