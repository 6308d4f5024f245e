/** How many files and connections the node may have open at once, and how many its configuration may ask for. */
import { readFile } from 'node:fs/promises'
import { CairnError } from '@cairn/kernel'
import type { Look, Scene } from './doctor-checks.ts'

/** Beside connections: segments of journals, indexes, the log, sockets of its own. */
const OWN_FILES = 512
/** With less than this a few idle clients take what is needed to answer any. */
const FILES_MIN = 1024

/** Of the running node, else of this process: the runtime raises the soft limit to the hard one when it starts. */
export async function checkFiles({ loaded, status }: Scene): Promise<Look> {
  const pid = status instanceof CairnError ? 'self' : String(status.pid)
  const limit = (await hardLimit(pid)) ?? (await hardLimit('self'))
  if (limit === undefined) return { state: 'good', says: 'how many may be open is not told by this system' }
  if (limit === Infinity) return { state: 'good', says: 'as many as it takes may be open' }
  const wanted = connectionsIn(loaded) + OWN_FILES
  const says = `${limit} may be open; connections and files may come to ${wanted}`
  const remedy = `ulimit -Hn ${wanted}    # or LimitNOFILE=${wanted} in the unit of systemd`
  if (limit < FILES_MIN) {
    return { state: 'bad', says, remedy, error: { kind: 'StorageBusy', code: 'file_limit' } }
  }
  return limit < wanted ? { state: 'warn', says, remedy } : { state: 'good', says }
}

async function hardLimit(pid: string): Promise<number | undefined> {
  try {
    const [, hard] = /^Max open files +\S+ +(\S+)/m.exec(await readFile(`/proc/${pid}/limits`, 'utf8')) ?? []
    return hard === 'unlimited' ? Infinity : hard === undefined ? undefined : Number(hard)
  } catch {
    return undefined
  }
}

/** Every port has a bound of its own. */
function connectionsIn(loaded: Scene['loaded']): number {
  if (loaded.tag === 'refused') return 0
  const services = Object.values(loaded.values as Readonly<Record<string, unknown>>)
  return services.reduce<number>((total, service) => {
    const { ingress } = service as { readonly ingress?: { readonly max_connections?: unknown } }
    const most = ingress?.max_connections
    return total + (typeof most === 'number' ? most : 0)
  }, 0)
}
