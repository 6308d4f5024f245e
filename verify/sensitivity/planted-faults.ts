/**
 * Faults planted to see which tools find them: one line of the source each, of a kind that somebody in a hurry could
 * really write. The list, and what is expected of each, was written down before the first run.
 *
 * `expects` is the tool that ought to find it first, in the order in which they are tried: the models, the simulators,
 * the power cuts and other campaigns, the tests beside the code.
 */
import type { Mutant } from '../model/mutant.ts'

export type Expected = 'model' | 'simulator' | 'campaign' | 'test' | 'nothing'

/** What is changed, in a file named from the root of the repository. */
export interface PlantedFault extends Omit<Mutant, 'expect'> {
  /** Short and lasting: rows of the table are found by it. */
  readonly id: string
  readonly expects: Expected
}

const KERNEL: readonly PlantedFault[] = [
  {
    id: 'abandoned-waiter',
    name: 'whoever stops waiting stays in line, and eats what comes next',
    file: 'packages/kernel/src/channel/waiters.ts',
    find: 'if (this.remove(waiter)) aborted()',
    replace: 'aborted()',
    expects: 'test',
  },
  {
    id: 'breaker-stays-open',
    name: 'time passes only for targets with lost reports: a breaker that opened never lets a probe through',
    file: 'packages/kernel/src/policy/breaker.ts',
    find: 'for (const target of this.#table.keys()) this.#write(target, (breaker) => core.tick(breaker, now))',
    replace: 'for (const target of this.#lost.keys()) this.#write(target, (breaker) => core.tick(breaker, now))',
    expects: 'test',
  },
]

const STORE: readonly PlantedFault[] = [
  {
    id: 'dedupe-before-sync',
    name: 'a chunk whose first write is still under way counts as present',
    file: 'packages/store/src/chunk/segment-chunk-store.ts',
    find: "if (decision.tag === 'join') return { write: decision.token, isNew: false }",
    replace: "if (decision.tag === 'join') return 'present'",
    expects: 'campaign',
  },
  {
    id: 'compacted-begins-late',
    name: 'a compacted segment claims to begin with its last record, so tombstones that cover it go too early',
    file: 'packages/store/src/compaction/compactor.ts',
    find: 'lowestLsn = Math.min(lowestLsn, event.lsn)',
    replace: 'lowestLsn = event.lsn',
    expects: 'campaign',
  },
  {
    id: 'cached-after-removal',
    name: 'a chunk that was removed while it was read goes into the cache',
    file: 'packages/store/src/chunk/segment-chunk-store.ts',
    find: 'if (shared !== undefined) this.#cache.offer(id, shared, () => this.exists(id))',
    replace: 'if (shared !== undefined) this.#cache.offer(id, shared, () => true)',
    expects: 'test',
  },
  {
    id: 'present-not-leased',
    name: 'chunks an upload was told it need not send are not kept for it',
    file: 'packages/store/src/chunk/segment-chunk-store.ts',
    find: 'if (isHere) lease(this.#store.leases, upload, id, now)',
    replace: '',
    expects: 'test',
  },
  {
    id: 'torn-tail-is-damage',
    name: 'off by one at the end of the log: a torn write right after the last sync counts as damage',
    file: 'packages/store/src/journal/recovery-core.ts',
    find: 'if (from >= durableEnd && tail.syncedLsn <= after) {',
    replace: 'if (from >= durableEnd && tail.syncedLsn < after) {',
    expects: 'simulator',
  },
]

const WIRE_AND_PLATFORM: readonly PlantedFault[] = [
  {
    id: 'prefix-without-segments',
    name: 'the caveat path_prefix compares letters, not segments: /o covers /ox',
    file: 'packages/wire/src/caveats.ts',
    find: "return prefix === '/' || path === prefix || path.startsWith(`${prefix}/`)",
    replace: 'return path.startsWith(prefix)',
    expects: 'test',
  },
  {
    id: 'ranges-may-touch',
    name: 'off by one: two ranges that share a byte do not overlap',
    file: 'packages/wire/src/range.ts',
    find: 'range.first <= (ordered[index - 1]?.last ?? -1)',
    replace: 'range.first < (ordered[index - 1]?.last ?? -1)',
    expects: 'test',
  },
  {
    id: 'caveat-bytes-on-paper',
    name: 'the caveat bytes_le is not applied to a body of unknown length',
    file: 'packages/http/src/pipeline/authorizer.ts',
    find: 'exchange.tokenBytesMax = verdict.maxBytes',
    replace: '',
    expects: 'test',
  },
  {
    id: 'tokens-outlive-ring',
    name: 'tokens found genuine stay so after the ring of keys changed',
    file: 'packages/http/src/pipeline/authorizer.ts',
    find: 'this.#tokens.clear()',
    replace: '',
    expects: 'test',
  },
  {
    id: 'signature-prefix',
    name: 'secrets are compared over the length of what the other side sent',
    file: 'packages/platform/src/crypto.ts',
    find: 'return a.length === b.length && timingSafeEqual(a, b)',
    replace: 'return a.length >= b.length && timingSafeEqual(a.subarray(0, b.length), b)',
    expects: 'test',
  },
  {
    id: 'late-failure-keeps-seat',
    name: 'a request whose handler fails after its deadline never gives its seat back',
    file: 'packages/http/src/pipeline/ingress.ts',
    find: 'else this.#release(exchange)',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'torn-reload',
    name: 'snapshots are swapped one service after the other, with others at work between',
    file: 'packages/platform/src/config/store.ts',
    find: 'this.#services[service]?.config.swap(this.#snapshotOf(service, values, origins))',
    replace: 'await Promise.resolve(this.#services[service]?.config.swap(this.#snapshotOf(service, values, origins)))',
    expects: 'nothing',
  },
]

const SHARED_PACKAGES: readonly PlantedFault[] = [
  {
    id: 'deadline-not-passed-on',
    name: 'a client does not tell the other side what is left of the budget',
    file: 'packages/clients/src/caller.ts',
    find: "headers: { ...headers, 'request-timeout': deadline.toHeader() },",
    replace: 'headers,',
    expects: 'test',
  },
  {
    id: 'expired-record-accepted',
    name: 'the allowance for clocks is given to records that have expired',
    file: 'packages/routing/src/record.ts',
    find: 'if (exp * 1000 <= wallMs) throw',
    replace: 'if (exp * 1000 + CLOCK_SKEW_MS <= wallMs) throw',
    expects: 'test',
  },
  {
    id: 'lease-timer-rings-once',
    name: 'the timer of leases is armed once in a life: later leases end, and nobody who waits is told',
    file: 'packages/mailbox/src/mailbox.ts',
    find: '      this.#timer = undefined',
    replace: '',
    expects: 'test',
  },
  {
    id: 'failed-ack-strands',
    name: 'a message whose acknowledgement could not be written is neither leased nor ready any more',
    file: 'packages/mailbox/src/mailbox.ts',
    find: 'if (given !== undefined) core.lease(this.#core, entry, given)',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'quorum-counts-newcomers',
    name: 'the signature of a key that is only proposed counts like one of the signers in force',
    file: 'packages/names/src/approval.ts',
    find: 'const isMet = current.approved.length >= signerSet.m && incoming.missing.length === 0',
    replace: 'const isMet = approvals.length >= signerSet.m && incoming.missing.length === 0',
    expects: 'test',
  },
  {
    id: 'old-root-not-compared',
    name: 'a consistency proof is not held against the root that was seen before',
    file: 'packages/tlog/src/proof.ts',
    find: "if (!equalBytes(subtreeHash, subtreeRoot)) throw unproved('leads to another root of the smaller tree')",
    replace: '',
    expects: 'test',
  },
  {
    id: 'run-one-longer',
    name: 'off by one: the tile after a run is answered with the tile of the run',
    file: 'packages/packs/src/pmtiles/format.ts',
    find: "return id < first + run ? { kind: 'tile', offset, length } : undefined",
    replace: "return id <= first + run ? { kind: 'tile', offset, length } : undefined",
    expects: 'test',
  },
  {
    id: 'resume-from-the-start',
    name: 'the library takes the rest of a window for its beginning after a connection was lost',
    file: 'sdk/src/get.ts',
    find: 'await readChunks(response, signal, manifest, { from: from + before, to }, keep)',
    replace: 'await readChunks(response, signal, manifest, { from, to }, keep)',
    expects: 'test',
  },
]

const REGISTRY: readonly PlantedFault[] = [
  {
    id: 'ack-before-checkpoint',
    name: 'a commit is acknowledged once it is signed, before the checkpoint is durable',
    file: 'services/registry/src/tasks/committer.ts',
    find: "await reach('signed')",
    replace: "await reach('signed'); this.#acknowledge(appended.decided)",
    expects: 'simulator',
  },
  {
    id: 'closed-in-the-batch',
    name: 'a proposal committed in a batch is still open to what comes after it in the same batch',
    file: 'services/registry/src/domain/ledger.ts',
    find: 'return this.#open.has(id) ? this.#open.get(id) : this.#base.open(id)',
    replace: 'return this.#open.get(id) ?? this.#base.open(id)',
    expects: 'simulator',
  },
  {
    id: 'drain-forgets-approvals',
    name: 'the drain closes one of the two queues',
    file: 'services/registry/src/intake.ts',
    find: 'this.#approvals.close()',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'prunes-the-last-entry',
    name: 'off by one: retention may remove the last entry a checkpoint covers, which says what HEAD was',
    file: 'services/registry/src/domain/retention-core.ts',
    find: 'const limit = Math.min(wanted(facts), anchor - 1, oldestOpen ?? anchor)',
    replace: 'const limit = Math.min(wanted(facts), anchor, oldestOpen ?? anchor)',
    expects: 'test',
  },
]

const INDEX: readonly PlantedFault[] = [
  {
    id: 'losers-go-on',
    name: 'the legs that lost a hedged lookup are not aborted, but waited for',
    file: 'services/index/src/domain/hedged-lookup.ts',
    find: 'for (const cancel of this.#cancels) cancel.abort()',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'unsigned-in-quorum',
    name: 'whoever nobody signed for counts towards the quorum of signed records',
    file: 'services/index/src/domain/hedged-lookup-core.ts',
    find: 'if (!isSigned) return []',
    replace: '',
    expects: 'model',
  },
  {
    id: 'name-kept-after-change',
    name: 'what a name meant is served from the cache after the registry has changed it',
    file: 'services/index/src/domain/resolver.ts',
    find: "if (question.tag === 'name' && names !== namesVersion(this.#parts.names, this.#parts.overrides)) return undefined",
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'failure-remembered',
    name: 'a write that failed is remembered under its key, and fails for a day',
    file: 'services/index/src/domain/idempotency.ts',
    find: 'if (this.#answers.get(key) === remembered) this.#answers.delete(key)',
    replace: '',
    expects: 'test',
  },
  {
    id: 'event-during-look',
    name: 'an event of the registry that comes during a look at it is slept over',
    file: 'services/index/src/registry-view/registry-view.ts',
    find: 'await this.#wakeWithin(waitMs, seen, signal)',
    replace: 'await this.#wakeWithin(waitMs, this.#wake.version, signal)',
    expects: 'nothing',
  },
]

const EDGE: readonly PlantedFault[] = [
  {
    id: 'validated-though-invalid',
    name: 'an answer that was made invalid while the upstream was asked about it is stored again',
    file: 'services/edge/src/fill/fill-upstream.ts',
    find: 'if (!fill.isOutdated && !isOvertaken(around.cas, entry)) around.cas.put(entry)',
    replace: 'if (!isOvertaken(around.cas, entry)) around.cas.put(entry)',
    expects: 'simulator',
  },
  {
    id: 'growing-for-anybody',
    name: 'whoever joins reads along, also if the answer was selected by other fields than theirs',
    file: 'services/edge/src/fill/upstream-answers.ts',
    find: "if (!isSelected(selecting, wanted.fieldOf, head.headers['content-language'])) return undefined",
    replace: '',
    expects: 'test',
  },
  {
    id: 'readers-lose-chunks',
    name: 'the chunks of a body that is not kept are let go of while somebody still reads it',
    file: 'services/edge/src/fill/fill-upstream.ts',
    find: 'fill.whenLeft(() => writer.handOver())',
    replace: 'writer.handOver()',
    expects: 'nothing',
  },
  {
    id: 'chunks-of-strangers',
    name: 'chunks from a provider are handed out unproved; only the whole is hashed in the end',
    file: 'services/edge/src/objects/provider-fills.ts',
    find: 'if (manifest !== undefined) verifyChunk(manifest, at, bytes)',
    replace: 'if (manifest !== undefined) at += 0',
    expects: 'campaign',
  },
]

const INTEROP: readonly PlantedFault[] = [
  {
    id: 'replay-keys-not-carried',
    name: 'replay keys go with the segment they lie in',
    file: 'services/interop/src/domain/ledger.ts',
    find: 'if (this.keys.isIn(segment)) await this.#writeRun()',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'bytes-never-given-back',
    name: 'bytes of webhooks that were read still count: after enough of them every one is sent away',
    file: 'services/interop/src/domain/verification-gate.ts',
    find: 'if (this.#reading.delete(seat)) this.#bytes -= seat.bytes',
    replace: 'this.#reading.delete(seat)',
    expects: 'test',
  },
  {
    id: 'relapse-ends-early',
    name: 'calm before a relapse counts towards the end of a brownout',
    file: 'services/interop/src/domain/brownout-core.ts',
    find: '    core.calmSince = undefined',
    replace: '',
    expects: 'test',
  },
]

const STORAGE: readonly PlantedFault[] = [
  {
    id: 'delete-settled-without-absent',
    name: 'a delete counts as known to all while a target is away: forgotten, it lets the object come back',
    file: 'services/storage/src/repair/repair-core.ts',
    find: "return known === undefined ? isExpired : known.tag !== 'object'",
    replace: "return isExpired || known?.tag !== 'object'",
    expects: 'simulator',
  },
  {
    id: 'dropped-before-proved',
    name: 'a copy that is one too many goes before those that stay were read and hashed',
    file: 'services/storage/src/repair/repair-core.ts',
    find: 'home.every(({ known }) => isCopy(known, version) && known.isProved)',
    replace: 'home.every(({ known }) => isCopy(known, version))',
    expects: 'simulator',
  },
  {
    id: 'present-before-durable',
    name: 'an object that had lost chunks is told as present before they are durable again',
    file: 'services/storage/src/objects/object-writer.ts',
    find: 'if (!isNew) await durable()',
    replace: '',
    expects: 'nothing',
  },
  {
    id: 'rebuilt-of-any-generation',
    name: 'a shard being rebuilt is shared between generations of the object',
    file: 'services/storage/src/erasure/stripe-reader.ts',
    find: 'const key = `${object} ${generation} ${stripe} ${index}`',
    replace: 'const key = `${object} ${stripe} ${index}`',
    expects: 'nothing',
  },
  {
    id: 'repaired-once-in-a-life',
    name: 'a repair that was made is never planned again, whatever is lost later',
    file: 'services/storage/src/tasks/repair-worker.ts',
    find: 'parts.repairs.ended(next.item)',
    replace: '',
    expects: 'simulator',
  },
  {
    id: 'held-elsewhere',
    name: 'a delete asks one copy whether it is held, and not the others',
    file: 'services/storage/src/placement/replicas.ts',
    find: 'if (owners.length > 0) throw referenced(id, owners)',
    replace: '',
    expects: 'simulator',
  },
]

export const PLANTED_FAULTS: readonly PlantedFault[] = [
  ...KERNEL,
  ...STORE,
  ...WIRE_AND_PLATFORM,
  ...SHARED_PACKAGES,
  ...REGISTRY,
  ...INDEX,
  ...EDGE,
  ...INTEROP,
  ...STORAGE,
]
