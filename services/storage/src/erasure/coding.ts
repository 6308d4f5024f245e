/** Encoding and decoding on worker threads; when all of them are busy, it waits its turn. */
import { ENCODE, RECONSTRUCT } from '@cairn/erasure'
import { CairnError, Deadline, isKind, sleep } from '@cairn/kernel'
import type { Platform, WorkerTask } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { codedLength, padded, type StripeDescriptor } from './stripe-core.ts'

const JOB_TIMEOUT_MS = 5000
const JOB_RETRY_MS = 5

type CodingPlatform = Pick<Platform, 'clock' | 'workers'>

/** The parity shards of the data shards, which have one length. */
export async function encodeStripe(
  machine: CodingPlatform,
  data: readonly Uint8Array[],
  m: number,
): Promise<Uint8Array[]> {
  return await runWithRetry(machine, ENCODE, { data, m })
}

/**
 * The shards with these indices: those that are there as they are, the others made out of them and checked against their
 * hashes. `NotFound` `too_few_shards` if not enough are there; `Integrity` if what came out is not what the descriptor says.
 */
export async function decodeStripe(
  machine: CodingPlatform,
  descriptor: StripeDescriptor,
  present: ReadonlyMap<number, Uint8Array>,
  wanted: readonly number[],
): Promise<Map<number, Uint8Array>> {
  const { k, m, shards, sizes } = descriptor
  const lost = wanted.filter((index) => !present.has(index))
  const found = new Map([...present].filter(([index]) => wanted.includes(index)))
  if (lost.length === 0) return found
  const length = codedLength(descriptor)
  const given = shards.map((id, index) => {
    const bytes = id === undefined ? new Uint8Array(0) : present.get(index)
    return bytes === undefined ? undefined : padded(bytes, length)
  })
  const rebuilt = await runWithRetry(machine, RECONSTRUCT, { shards: given, k, m, wanted: lost })
  for (const [at, index] of lost.entries()) {
    const bytes = rebuilt[at]?.subarray(0, sizes[index])
    if (bytes === undefined || addressOf(bytes) !== shards[index]) throw notTheShard(descriptor, index)
    found.set(index, bytes)
  }
  return found
}

async function runWithRetry<Input, Output>(
  { clock, workers }: CodingPlatform,
  task: WorkerTask<Input, Output>,
  input: Input,
): Promise<Output> {
  for (;;) {
    try {
      return await workers.run(task, input, { deadline: Deadline.after(clock, JOB_TIMEOUT_MS) })
    } catch (error) {
      if (!isKind(error, 'Busy')) throw error
      await sleep(clock, JOB_RETRY_MS)
    }
  }
}

function notTheShard({ object, stripe }: StripeDescriptor, index: number): CairnError {
  const detail = `Shard ${index} of stripe ${stripe} of ${object} came out wrong; it is not handed out. Scrub the drives.`
  return new CairnError('Integrity', detail)
}
