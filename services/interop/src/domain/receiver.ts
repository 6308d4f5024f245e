/**
 * What happens to a webhook that is genuine.
 *
 *     was it here before? ─▶ duplicate: noted, not applied
 *      └─ is the same one on its way? ─▶ wait for what becomes of it, then ask again
 *     room for key and messages? ─▶ body into storage, held ─▶ {key, messages, audit line} in one record ─▶ accepted
 *
 * An abort ends waits. It never comes between the body and the record: repeating the request shows what became of it.
 */
import type { CallContext, StorageClient } from '@cairn/clients'
import { type Bus, type Runtime, throwIfCanceled } from '@cairn/kernel'
import type { Platform } from '@cairn/platform'
import { abortable } from '@cairn/transport'
import { type Address, addressOf, type Caveat, createUlid } from '@cairn/wire'
import type { InteropAudit, InteropEvents } from '../audit.ts'
import { full, needsStorage } from '../errors.ts'
import type { Rule } from '../rules/rule.ts'
import type { InteropLedger } from './ledger.ts'
import { storeObject, WHOLE_BYTES_MAX } from './object-in.ts'
import type { Pressure } from './pressure.ts'
import { allowed, messagesOf, type Webhook } from './webhook.ts'

/*
 * Capability translation: what an outside proof is worth inside. The proof itself goes no further; what interop holds
 * is narrowed to this event, for a minute.
 */

/** Narrows what this service may do elsewhere. The keys behind it are the node's. */
export interface CapabilityIssuer {
  /** For exactly this body: to store and hold it, nothing else. */
  forBody(address: Address): readonly Caveat[]
}

/** The longest a token made for one event is good. */
const CAPABILITY_MS = 60_000
/** Verifiers allow for clocks that differ by this much, so it is taken off the end. */
const SKEW_MS = 60_000

export function eventCapabilityIssuer({ clock, metrics }: Runtime): CapabilityIssuer {
  return {
    forBody: (address) => {
      metrics.count('capabilities_issued_total', { scope: 'storage:write' })
      metrics.count('capabilities_issued_total', { scope: 'storage:hold' })
      const at = Math.floor((clock.wall() + CAPABILITY_MS - SKEW_MS) / 1000) + 1
      return [
        { kind: 'exp', at },
        { kind: 'address', address },
        { kind: 'scope_in', scopes: ['storage:write', 'storage:hold'] },
      ]
    },
  }
}

export interface ReceivedWebhook {
  readonly address: Address
  readonly isDuplicate: boolean
}

export interface ReceiverParts {
  readonly ledger: InteropLedger
  readonly storage: StorageClient | undefined
  readonly capabilities: CapabilityIssuer
  readonly pressure: Pressure
  readonly audit: InteropAudit
  readonly events: Bus<InteropEvents>
  readonly rules: () => readonly Rule[]
}

/** Who keeps the bodies of webhooks from being deleted. */
const OWNER = 'interop'

export class Receiver {
  readonly #platform: Platform
  readonly #parts: ReceiverParts
  /** What becomes of those that are the first of their key. */
  readonly #underWay = new Map<string, Promise<unknown>>()

  constructor(platform: Platform, parts: ReceiverParts) {
    this.#platform = platform
    this.#parts = parts
  }

  async receive(webhook: Webhook, context: CallContext): Promise<ReceivedWebhook> {
    const { ledger } = this.#parts
    const hashes = ledger.hashesOf(webhook.provider, webhook.verified.replay.key)
    const [hash = ''] = hashes
    for (;;) {
      throwIfCanceled(context.signal)
      const isKnown = hashes.some((each) => ledger.keys.knows(each, webhook.receivedAt))
      const standing = isKnown ? 'known' : ledger.keys.stand(hash, webhook.receivedAt, ledger.keysOnDrive)
      if (standing === 'known') return await this.#again(webhook)
      if (standing === 'full') throw full('The store of replay keys is')
      if (standing === 'first') return (await this.#first(webhook, hashes, context)) ?? (await this.#again(webhook))
      // However it ends, this one looks anew: if it failed, this one is the first.
      const first = this.#underWay.get(hash) ?? Promise.resolve()
      await abortable(context.signal ?? NEVER, first.then(ignore, ignore))
    }
  }

  /** Nothing if a run on the drive knows it. */
  async #first(
    webhook: Webhook,
    hashes: readonly string[],
    context: CallContext,
  ): Promise<ReceivedWebhook | undefined> {
    const { ledger } = this.#parts
    const [hash = ''] = hashes
    const outcome = (async (): Promise<ReceivedWebhook | undefined> => {
      if (await ledger.hasOnDrive(hashes, webhook.receivedAt)) return undefined
      return { address: await this.#apply(webhook, hash, context), isDuplicate: false }
    })()
    this.#underWay.set(hash, outcome)
    try {
      return await outcome
    } finally {
      this.#underWay.delete(hash)
      ledger.keys.over(hash)
    }
  }

  /** The sender only asks whether we are there. */
  async greet(webhook: Webhook): Promise<void> {
    await this.#note(webhook, null, 'handshake')
  }

  async #again(webhook: Webhook): Promise<ReceivedWebhook> {
    const address = addressOf(webhook.body)
    this.#platform.metrics.count('interop_dedup_rejects_total', { provider: webhook.provider })
    await this.#note(webhook, address, 'duplicate')
    return { address, isDuplicate: true }
  }

  async #note(webhook: Webhook, address: Address | null, reason: 'duplicate' | 'handshake'): Promise<void> {
    const facts = allowed(webhook, address, reason)
    await this.#parts.ledger.note([facts])
    this.#platform.metrics.count('audit_emitted_total', { sink: 'journal' })
    this.#parts.audit.tell(facts)
  }

  async #apply(webhook: Webhook, hash: string, context: CallContext): Promise<Address> {
    const { ledger, rules, audit, events } = this.#parts
    const { provider, verified, corrId } = webhook
    const { clock, random, metrics } = this.#platform
    const id = createUlid(webhook.receivedAt, random.bytes(10))
    const beganAt = clock.now()
    const address = addressOf(webhook.body)
    metrics.observe('hash_compute_seconds', (clock.now() - beganAt) / 1000, { alg: 'blake3' })
    const changes = messagesOf(webhook, id, address, rules())
    using room = ledger.mailbox.reserve(changes.length)
    if (room === undefined) throw full('The mailbox is')
    await this.#keep(webhook, address, context)
    const facts = allowed(webhook, address, '')
    await ledger.accept({ replay: { key: hash, until: verified.replay.keepUntilMs }, changes, audit: facts })
    metrics.count('webhook_accepted_total', { provider })
    metrics.count('audit_emitted_total', { sink: 'journal' })
    audit.tell(facts)
    const { event, deliveryId: delivery } = verified
    const body = { provider, event, delivery, address, message: id, corr_id: corrId }
    events.publish({ topic: 'interop.webhook.accepted', body })
    return address
  }

  /** Durable in storage, and held there. */
  async #keep({ body, contentType }: Webhook, address: Address, context: CallContext): Promise<void> {
    const { storage, capabilities, pressure } = this.#parts
    if (storage === undefined) throw needsStorage()
    const narrowed = { ...context, caveats: capabilities.forBody(address) }
    if (body.length <= WHOLE_BYTES_MAX) {
      await pressure.call('storage', 'put_held', narrowed, async (call) => {
        await storage.putHeld(OWNER, body, contentType, call)
      })
      return
    }
    await pressure.call('storage', 'put', narrowed, async (call) => await storeObject(storage, body, contentType, call))
    await pressure.call('storage', 'hold', narrowed, async (call) => await storage.hold(OWNER, address, call))
  }
}

const NEVER = new AbortController().signal

function ignore(): void {}
