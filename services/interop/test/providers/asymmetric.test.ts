/** v1a, which no npm library of the vendor signs: `node:crypto` does, case by generated case. */
import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, type KeyObject, sign, verify } from 'node:crypto'
import { test } from 'node:test'
import { SeededRandom } from '@cairn/kernel/testing'
import { isRefused, isVerified, opened, secret } from './opened.ts'
import { below, jsonBody } from './vendor-cases.ts'

const NOW_MS = 1_780_000_000_000

function keyPair() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519')
  const raw = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32)
  return { publicKey, privateKey, text: `whpk_${raw.toString('base64')}` }
}

test('v1a: 200 messages, each valid, tampered, by a stranger, old, of the future and with both versions', (t) => {
  const random = new SeededRandom(5)
  const [ours, next, stranger] = [keyPair(), keyPair(), keyPair()]
  const provider = opened('standard', [secret(ours.text), { ...secret(next.text), id: 'env:NEXT' }])
  let count = 0
  for (let round = 0; round < 200; round += 1) {
    const id = `msg_${round}`
    const seconds = NOW_MS / 1000 + below(random, 601) - 300
    const body = Buffer.concat([jsonBody(random, id, 'user.created'), Buffer.from(random.bytes(below(random, 4)))])
    const request = (signatures: string, at = seconds, sent = body) => ({
      headers: [
        ['webhook-id', id],
        ['webhook-timestamp', String(at)],
        ['webhook-signature', signatures],
      ] as const,
      body: sent,
      nowMs: NOW_MS,
    })
    const signed = (key: KeyObject, at = seconds): Buffer => sign(null, text(id, at, body), key)
    const header = (...signatures: Buffer[]): string =>
      signatures.map((signature) => `v1a,${signature.toString('base64')}`).join(' ')

    const good = signed(ours.privateKey)
    assert.ok(verify(null, text(id, seconds, body), ours.publicKey, good))
    isVerified(provider.verify(request(header(good))))
    assert.equal(isVerified(provider.verify(request(header(signed(next.privateKey))))).secretId, 'env:NEXT')
    isVerified(provider.verify(request(header(signed(stranger.privateKey), good))))
    isRefused(provider.verify(request(header(signed(stranger.privateKey)))), 'UNAUTH')
    const tampered = Buffer.from(body)
    tampered[below(random, body.length)]! ^= 1
    isRefused(provider.verify(request(header(good), seconds, tampered)), 'UNAUTH')
    const far = NOW_MS / 1000 + (round % 2 === 0 ? 301 : -301)
    isRefused(provider.verify(request(header(signed(ours.privateKey, far)), far)), 'POLICY_BLOCKED')
    count += 6
  }
  t.diagnostic(`${count} cases`)
})

test('the three headers have the names of one family, Standard Webhooks or Svix', () => {
  const provider = opened('standard', [secret(`whsec_${Buffer.alloc(32, 7).toString('base64')}`)])
  const seconds = NOW_MS / 1000
  const body = Buffer.from('{}')
  const mac = createHmac('sha256', Buffer.alloc(32, 7))
    .update(text('m', seconds, body))
    .digest('base64')
  const values = { id: 'm', timestamp: String(seconds), signature: `v1,${mac}` }
  const families = ['webhook', 'svix'] as const
  for (const id of families)
    for (const timestamp of families)
      for (const signature of families) {
        const headers = [
          [`${id}-id`, values.id],
          [`${timestamp}-timestamp`, values.timestamp],
          [`${signature}-signature`, values.signature],
        ] as const
        const verdict = provider.verify({ headers, body, nowMs: NOW_MS })
        if (id === timestamp && timestamp === signature) isVerified(verdict)
        else isRefused(verdict, 'UNAUTH', `${id} ${timestamp} ${signature}`)
      }
})

const text = (id: string, seconds: number, body: Buffer): Buffer =>
  Buffer.concat([Buffer.from(`${id}.${seconds}.`), body])
