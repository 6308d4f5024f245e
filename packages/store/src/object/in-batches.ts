/** Records read side by side: a drive answers many as fast as one, and each keeps its segment pinned meanwhile. */
const READS_TOGETHER = 16

/** The items of the slices, some at a time. No slice is asked for before all of those before it were taken. */
export function* inBatches<Item>(slices: Iterable<readonly Item[]>): Iterable<readonly Item[]> {
  let batch: Item[] = []
  for (const slice of slices) {
    for (const item of slice) {
      batch.push(item)
      if (batch.length < READS_TOGETHER) continue
      yield batch
      batch = []
    }
  }
  if (batch.length > 0) yield batch
}
