/** What a user does with a node, each step over HTTP or the command line, for cases and fixtures. */
import { createHash, createHmac } from 'node:crypto'
import type { Answer, RunningNode } from './node.ts'

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Standard output of a command that has to succeed. */
export async function told(node: RunningNode, ...args: readonly string[]): Promise<string> {
  const { code, out, err } = await node.cairn(...args)
  if (code !== 0) throw new Error(`cairn ${args.join(' ')} ended with ${String(code)}: ${err}`)
  return out.trim()
}

/** Proposes, approves with the node's own signer and commits; the version. */
export async function nameIt(node: RunningNode, name: string, address?: string): Promise<number> {
  const meant = address === undefined ? ['--remove'] : [address]
  const proposal = await told(node, 'name', 'propose', '-q', name, ...meant)
  // The command line of format 0.1 asks nobody, and has no word for that.
  const { err } = await node.cairn('name', 'approve', '-q', proposal, '--yes')
  if (err.includes('no option --yes')) await told(node, 'name', 'approve', '-q', proposal)
  return Number.parseInt(await told(node, 'name', 'commit', '-q', proposal), 10)
}

/** A webhook as GitHub sends it. */
export async function sendWebhook(
  node: RunningNode,
  { secret, event, delivery, body }: { secret: string; event: string; delivery: string; body: string },
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'x-github-event': event,
    'x-github-delivery': delivery,
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
  }
  return await node.request('interop', '/webhooks/github', { method: 'POST', headers, body })
}

export function json(answer: Answer): unknown {
  return JSON.parse(answer.body.toString())
}
