/** What can be delivered now, the longest here first: a binary heap by place. */
export interface HasPlace {
  readonly place: number
}

export function push<T extends HasPlace>(heap: T[], item: T): void {
  heap.push(item)
  let at = heap.length - 1
  while (at > 0) {
    const parent = (at - 1) >> 1
    if (placeAt(heap, parent) <= placeAt(heap, at)) return
    swap(heap, at, parent)
    at = parent
  }
}

export function pop<T extends HasPlace>(heap: T[]): T | undefined {
  const [first] = heap
  const last = heap.pop()
  if (first === undefined || last === undefined || heap.length === 0) return first
  heap[0] = last
  for (let at = 0; ; ) {
    const left = 2 * at + 1
    const least = placeAt(heap, left) <= placeAt(heap, left + 1) ? left : left + 1
    if (placeAt(heap, at) <= placeAt(heap, least)) return first
    swap(heap, at, least)
    at = least
  }
}

/** Past the end nothing is smaller. */
function placeAt(heap: readonly HasPlace[], index: number): number {
  return heap[index]?.place ?? Number.POSITIVE_INFINITY
}

function swap(heap: HasPlace[], a: number, b: number): void {
  const [left, right] = [heap[a], heap[b]]
  if (left === undefined || right === undefined) return
  heap[a] = right
  heap[b] = left
}
