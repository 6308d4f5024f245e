/** Edits it takes to turn one word into the other: insert, delete, replace, or swap two neighbours. */
export function editDistance(from: string, to: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const isEqual = from[row - 1] === to[column - 1]
      const isSwapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const swap = row > 1 && column > 1 && isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + (isEqual ? 0 : 1),
        swap,
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}

/** The known word that `word` was most likely meant to be; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  let best: { readonly word: string; readonly distance: number } | undefined
  for (const candidate of known) {
    const distance = editDistance(word.toLowerCase(), candidate.toLowerCase())
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { word: candidate, distance }
  }
  return best !== undefined && best.distance <= Math.max(1, Math.floor(word.length / 3)) ? best.word : undefined
}
