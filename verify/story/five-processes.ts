/** One node as five processes, one for each service, from the same configuration and data directory. */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { freePorts } from '@cairn/platform/testing'
import { firstLine, NODE_WAIT_MS } from '../../cli/test/processes.ts'
import type { Deployment, Testbed, Urls } from './testbed.ts'

export const FIVE = ['storage', 'registry', 'index', 'edge', 'interop'] as const
export type ServiceName = (typeof FIVE)[number]

/** What a process said last, to be told when it does not start. */
const WORDS_KEPT = 2000

export interface FiveProcesses extends Deployment {
  /** `kill -9`, that one. */
  killOne(service: ServiceName): Promise<void>
}

export function fiveProcesses(testbed: Testbed, environment: Readonly<Record<string, string>>): FiveProcesses {
  const running = new Map<ServiceName, ChildProcess>()
  const urls = new Map<string, readonly string[]>()
  let portBase: Promise<number> | undefined

  const start = async (service: ServiceName, base: number): Promise<void> => {
    const places = ['--data', testbed.path('operator/.cairn'), '--config', testbed.path('operator/cairn.toml')]
    const args = ['start', '--services', service, '--port-base', String(base), ...places]
    const node = testbed.place.launch(args, {
      environment: { HOME: testbed.path('operator'), ...environment },
      waitMs: NODE_WAIT_MS,
    })
    // Read to the end of its life: a pipe nobody reads fills up, and then its writer waits.
    let words = ''
    node.stderr?.setEncoding('utf8').on('data', (part: string) => {
      words = `${words}${part}`.slice(-WORDS_KEPT)
    })
    running.set(service, node)
    const line = await firstLine(node).catch((cause: unknown) => {
      throw new Error(`${service} did not start (${String(node.exitCode ?? node.signalCode)}):\n${words}`, { cause })
    })
    const ready = JSON.parse(line) as { urls: Urls }
    urls.set(service, ready.urls[service] ?? [])
  }

  const killOne = async (service: ServiceName): Promise<void> => {
    const node = running.get(service)
    running.delete(service)
    if (node === undefined || node.exitCode !== null || node.signalCode !== null) return
    const gone = once(node, 'exit')
    node.kill('SIGKILL')
    await gone
  }

  return {
    start: async () => {
      portBase ??= freePorts(FIVE.length + 1)
      const base = await portBase
      await Promise.all(
        FIVE.filter((service) => !running.has(service)).map(async (service) => await start(service, base)),
      )
      return Object.fromEntries(urls)
    },
    kill: async () => {
      for (const service of FIVE) await killOne(service)
    },
    killOne,
  }
}
