/** What a person sees when the node is ready, and what a program reads instead. */
import type { NodeStatus } from './routes.ts'

export interface BannerFacts {
  readonly status: NodeStatus
  readonly nodeVersion: string
  readonly startedInMs: number
  /** Only in amnesia, where there is no file to read it from. */
  readonly token: string | undefined
}

export function banner({ status, nodeVersion, startedInMs, token }: BannerFacts): string {
  const width = Math.max(8, ...status.services.map(({ name }) => name.length))
  const services = status.services.map(({ name, ready, missing, summary }) => {
    return `  ${ready ? '✔' : '…'} ${name.padEnd(width)}  ${ready ? summary : `waiting for ${missing.join(', ')}`}`
  })
  const [url = ''] = status.urls
  const data = status.kept ? `${status.data} (kept)` : 'in memory (nothing survives a stop)'
  const where = status.kept ? `Token  ${status.data}/admin.token` : ''
  return [
    `cairn ${status.version} · node ${nodeVersion} · pid ${status.pid}`,
    '',
    ...services,
    ...(services.length === 0 ? [] : ['']),
    `  Node     ${url}`,
    `  Data     ${data.padEnd(24)} ${where}`.trimEnd(),
    ...(token === undefined ? [] : [`  Token    ${token}`]),
    `  Loopback only. No telemetry. Ready in ${(startedInMs / 1000).toFixed(1)} s.   Next:  npx cairn status`,
    '',
  ].join('\n')
}

/** One line for whoever started us without a terminal. */
export function readyEvent({ status, startedInMs }: BannerFacts): string {
  const urls = Object.fromEntries(status.services.map((service) => [service.name, service.urls]))
  const { version, pid, data, kept } = status
  return `${JSON.stringify({ event: 'ready', version, pid, data, kept, urls: { node: status.urls, ...urls }, started_in_ms: Math.round(startedInMs) })}\n`
}
