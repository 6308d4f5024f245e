/** The node's own signer, one of one, and what it does with a proposal. */
import { readFileSync } from 'node:fs'
import { type Item, parseSignerKey } from '@cairn/names'
import { systemCrypto } from '@cairn/platform'
import { toBase64url } from '@cairn/wire'
import type { Connection } from './connection.ts'

interface Opened {
  readonly proposal_id: string
  readonly signing_input: string
}

export class Signer {
  readonly #key: ReturnType<typeof parseSignerKey>

  constructor(keyFile: string) {
    this.#key = parseSignerKey(readFileSync(keyFile))
  }

  /** Proposes and approves; gives the proposal, which can be committed. */
  async approved(connection: Connection, items: readonly Item[]): Promise<string> {
    const body = JSON.stringify({ payload: { items } })
    const opened = JSON.parse(await connection.expect(202, 'POST', '/registry/proposals', body)) as Opened
    const { signer, seed } = this.#key
    const sig = toBase64url(systemCrypto.ed25519Signer(seed)(new TextEncoder().encode(opened.signing_input)))
    const approval = JSON.stringify({ signer_id: signer.id, sig })
    await connection.expect(200, 'POST', `/registry/approvals/${opened.proposal_id}`, approval)
    return opened.proposal_id
  }
}
