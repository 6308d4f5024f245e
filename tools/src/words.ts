/** The words of docs/GLOSSARY.md, kept by what may not stand in their place. */

/** Said of things the field has a name for; refused in identifiers, file names and help, as whole words. */
const NAMES_REFUSED: ReadonlyMap<string, string> = new Map([
  ['town', 'cluster'],
  ['lookout', 'poller'],
  ['excuse', 'fault window'],
  ['clerk', 'client'],
  ['book', 'ledger, history, overrides'],
  ['passport', 'token issuer'],
  ['patience', 'timeout'],
  ['dress', 'representation'],
  ['parcel', 'delivery'],
  ['means', 'context, meaning'],
  ['circumstances', 'input'],
  ['surroundings', 'dependencies'],
  ['upkeep', 'maintenance'],
  ['doors', 'endpoints'],
  ['provoked', 'triggered'],
  ['houselaw', 'lint rule'],
])

/** Of people who are none; refused in prose and in what a program says. */
const PHRASES_REFUSED: ReadonlyMap<string, string> = new Map([
  ['whoever', 'a client, the caller, the holder'],
  ['somebody', 'a client, an operator, a peer'],
  ['nobody', 'no client, nothing, not'],
  ['is told', 'gets, learns'],
  ['asks nobody', 'offline'],
  ['means nothing', 'was not found'],
  ['lets go', 'releases'],
])

const COMMENT_OR_TEXT =
  /\/\*[\s\S]*?\*\/|\/\/.*|\x27(?:\\.|[^\x27\\\n])*\x27|\x22(?:\\.|[^\x22\\\n])*\x22|\x60(?:\\.|[^\x60\\])*\x60/g
const IDENTIFIER = /[A-Za-z_$][\w$]*/g
const PHRASE = new RegExp(`\\b(?:${[...PHRASES_REFUSED.keys()].join('|')})\\b`, 'i')

/** The words an identifier or a file name is made of, in lower case. */
function wordsOf(name: string): string[] {
  const words = name.split(/[^A-Za-z]+|(?<=[a-z])(?=[A-Z])/).map((word) => word.toLowerCase())
  // `house law` is two words of one name.
  return [...words, ...words.slice(1).map((word, at) => `${words[at] ?? ''}${word}`)]
}

/** Also of several: `books` as `book`. */
function nameProblem(place: string, name: string): string[] {
  for (const word of wordsOf(name)) {
    const better = NAMES_REFUSED.get(word) ?? NAMES_REFUSED.get(word.replace(/s$/, ''))
    if (better !== undefined) return [`${place}: "${word}" in the name ${name}; say ${better}.`]
  }
  return []
}

/** A file or folder that is named after a word that is not the field's. */
export function fileNameProblems(path: string): string[] {
  return nameProblem(path, path.slice(path.lastIndexOf('/') + 1))
}

/** Identifiers of a source file. */
export function identifierProblems(file: string, text: string): string[] {
  const code = text.replace(COMMENT_OR_TEXT, (match) => match.replace(/[^\n]/g, ' '))
  return code
    .split('\n')
    .flatMap((line, index) =>
      [...line.matchAll(IDENTIFIER)].flatMap(([name]) => nameProblem(`${file}:${index + 1}`, name)),
    )
}

/** Prose of a document. */
export function proseProblems(file: string, text: string): string[] {
  return text.split('\n').flatMap((line, index) => phraseProblem(`${file}:${index + 1}`, line))
}

/** The page of commands, which has every text of the help: no word of it may be one that no name may have. */
export function helpProblems(file: string, text: string): string[] {
  return text
    .split('\n')
    .flatMap((line, index) => line.split(' ').flatMap((word) => nameProblem(`${file}:${index + 1}`, word)))
}

/** What a program says: texts of a source file. */
export function textProblems(file: string, text: string): string[] {
  const problems: string[] = []
  for (const match of text.matchAll(COMMENT_OR_TEXT)) {
    if (match[0].startsWith('/')) continue
    const line = text.slice(0, match.index).split('\n').length
    problems.push(...phraseProblem(`${file}:${line}`, match[0]))
  }
  return problems
}

function phraseProblem(place: string, text: string): string[] {
  const found = PHRASE.exec(text)?.[0].toLowerCase()
  if (found === undefined) return []
  return [`${place}: "${found}"; say ${PHRASES_REFUSED.get(found) ?? 'what it is'}.`]
}
