/** Interop against a bare loop of writes: what it costs to verify a webhook and to acknowledge it once it is durable. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BenchCase } from './harness.ts'
import { Program } from './storage/programs.ts'
import { type StorageNode, startServices } from './storage/servers.ts'
import { Workplace } from './storage/workplace.ts'

const CLIENTS = 16
/** As large as a small push. */
const BODY_BYTES = 8 * 1024
const WEBHOOKS = 2000
const SECRET = 'a secret of the bench'

let workplace: Workplace | undefined
let node: Promise<StorageNode> | undefined

function place(): Workplace {
  workplace ??= new Workplace('')
  return workplace
}

/** Storage and interop in one process, every rate off. */
async function startInterop(): Promise<StorageNode> {
  const directory = join(place().directory, 'interop')
  await mkdir(directory, { recursive: true })
  const file = join(directory, 'secret')
  await writeFile(file, SECRET)
  const toml = `[interop.ingress]
max_rps = 0
[interop.mailbox]
max_messages = 10000000
[interop.providers.github]
enabled = true
secrets = [{ file = ${JSON.stringify(file)} }]
`
  return await startServices(directory, ['storage', 'interop'], toml)
}

/** Ends everything the cases started. */
export async function close(): Promise<void> {
  await (await node)?.[Symbol.asyncDispose]()
  await workplace?.[Symbol.asyncDispose]()
}

async function figureOf(script: URL, options: readonly string[]): Promise<number> {
  return Number(await Program.node(script, options).output())
}

const WEBHOOK: BenchCase = {
  name: 'webhook',
  unit: 'webhooks/s',
  higherIsBetter: true,
  peerName: `append of ${BODY_BYTES / 1024} KiB, fdatasync, again`,
  limits: `${CLIENTS} senders, ${WEBHOOKS} new bodies of ${BODY_BYTES / 1024} KiB a run, verified (GitHub), stored, held, queued and audited before each answer, rate off, same file system`,
  ours: async () => {
    node ??= startInterop()
    const { url } = await node
    const script = new URL('./interop/webhook-load.ts', import.meta.url)
    return await figureOf(script, [url, SECRET, ...[CLIENTS, BODY_BYTES, WEBHOOKS].map(String)])
  },
  peer: async () => {
    const options = [join(place().directory, 'bare-append'), ...[BODY_BYTES, WEBHOOKS].map(String)]
    return await figureOf(new URL('./registry/bare-append.ts', import.meta.url), options)
  },
}

export const CASES: readonly BenchCase[] = [WEBHOOK]
