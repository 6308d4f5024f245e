/** What other tools call it: for words that are no command here, what is. */

/** The known word that `word` was most likely meant to be; undefined when none is close. */
export function findNearest(word: string, known: readonly string[]): string | undefined {
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

const BY_WORD: Readonly<Record<string, string>> = {
  add: 'cairn calls that put',
  cat: 'cairn calls that get: cairn get ADDRESS -o -',
  console: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  cp: 'cairn calls that put, and the way back get',
  delete: 'cairn calls that rm',
  download: 'cairn calls that get',
  fetch: 'cairn calls that get',
  list: 'cairn calls that ls',
  logs: 'a node writes its log to the standard error of cairn start',
  open: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  pin: 'cairn calls that put: what is stored stays until cairn rm',
  deploy: 'cairn calls that publish',
  remove: 'cairn calls that rm',
  sync: 'cairn calls that put: run again, it sends only what is missing',
  ui: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  upload: 'cairn calls that put',
  version: 'did you mean cairn --version?',
  'name list': 'cairn name log lists every name as it was given its meaning, newest first',
  'name ls': 'cairn name log lists every name as it was given its meaning, newest first',
  'name proposals': 'did you mean cairn name pending?',
}

const BY_OPTION: Readonly<Record<string, string>> = { '-v': '--version', '-V': '--version', '-?': '--help' }

/** What to say of a command that is none, if somebody may well expect it. */
export function suggestCommand(typed: string): string | undefined {
  return Object.hasOwn(BY_WORD, typed) ? BY_WORD[typed] : undefined
}

export function suggestOption(typed: string): string | undefined {
  return Object.hasOwn(BY_OPTION, typed) ? BY_OPTION[typed] : undefined
}
