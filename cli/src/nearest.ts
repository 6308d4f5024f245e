/** The known word that `word` was most likely meant to be; undefined when none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const limit = Math.max(1, Math.floor(word.length / 3))
  const ranked = known
    .map((candidate) => ({ candidate, edits: editsBetween(word, candidate) }))
    .filter(({ edits }) => edits <= limit)
    .sort((one, other) => one.edits - other.edits)
  return ranked[0]?.candidate
}

/** Letters to insert, delete, replace, or swap with their neighbour. */
function editsBetween(from: string, to: string): number {
  let twoAbove: number[] = []
  let above = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 0; row < from.length; row += 1) {
    const current = [row + 1]
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (above[column - 1] ?? 0) + (from[row] === to[column - 1] ? 0 : 1)
      const isSwapped = row > 0 && from[row] === to[column - 2] && from[row - 1] === to[column - 1]
      const swapped = isSwapped ? (twoAbove[column - 2] ?? 0) + 1 : replaced
      current.push(Math.min(replaced, swapped, (above[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    twoAbove = above
    above = current
  }
  return above.at(-1) ?? 0
}
