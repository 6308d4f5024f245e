/** Requests made by curl: a client that is not ours. */
import { spawn, spawnSync } from 'node:child_process'
import { buffer } from 'node:stream/consumers'

export function hasCurl(): boolean {
  return spawnSync('curl', ['--version'], { stdio: 'ignore' }).status === 0
}

export interface CurlAnswer {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

/** One request; `args` are curl's own, the address among them. */
export async function curl(args: readonly string[], input: Uint8Array = Buffer.alloc(0)): Promise<CurlAnswer> {
  const told = ['-sS', '--http1.1', '--max-time', '30', '-w', '%{stderr}\n%{http_code} %{header_json}']
  const child = spawn('curl', [...told, ...args], { stdio: ['pipe', 'pipe', 'pipe'] })
  // curl leaves what it does not need unread.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [body, said] = await Promise.all([buffer(child.stdout), buffer(child.stderr)])
  const [, status, json] = /\n(\d{3}) (\{[\s\S]*\})\s*$/.exec(said.toString()) ?? []
  if (json === undefined) throw new Error(`curl ${args.join(' ')} got no answer: ${said.toString()}`)
  const fields = Object.entries(JSON.parse(json) as Record<string, string[]>)
  const headers = Object.fromEntries(fields.map(([name, values]) => [name, values.join(', ')]))
  return { status: Number(status), headers, body }
}
