/** Sentences that fit the width of a terminal, broken between words. What is to be copied is never passed through here. */
const COLUMNS_MIN = 20

/** In a clone `npx cairn` runs this program; anywhere else it would fetch the package of that name, which is not ours. */
const IN_A_CLONE = 'npx cairn'

/**
 * How the user calls this program, as far as the module's file and the variables of npm tell: TypeScript is run in a clone
 * only, and `npx` runs what is not installed.
 */
export function commandName(
  moduleUrl: string = import.meta.url,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string {
  if (moduleUrl.endsWith('.ts')) return IN_A_CLONE
  return environment['npm_command'] === 'exec' ? 'npx cairnd' : 'cairn'
}

/** Hints, with the program called as the user calls it. */
export function asCalled(text: string, name: string = commandName()): string {
  return text.replace(/\bnpx cairn\b/g, name)
}

/** The text with lines of at most `columns`, those that follow indented; as it is where the width is not known. */
export function wrapText(text: string, columns: number | undefined, indent = ''): string {
  if (columns === undefined) return text
  const width = Math.max(columns, COLUMNS_MIN)
  return text
    .split('\n')
    .map((line) => wrapLine(line, width, indent))
    .join('\n')
}

function wrapLine(line: string, width: number, indent: string): string {
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    // A word longer than a line keeps its line to itself: an address that is cut cannot be copied.
    const space = rest.lastIndexOf(' ', width)
    const at = space > indent.length ? space : rest.indexOf(' ', width)
    if (at <= indent.length) break
    lines.push(rest.slice(0, at))
    rest = `${indent}${rest.slice(at + 1).trimStart()}`
  }
  return [...lines, rest].join('\n')
}

/**
 * Text of others, as it may be shown to a person: what a terminal would act on, what turns the direction of a line round
 * and what takes no room at all is written as its number. Programs read `--json`, which has it as it is.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const HIDDEN_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** One field of a line: also without line breaks, which would make two of it. */
export function escapeControls(text: string): string {
  return text.replaceAll(HIDDEN, escapeCharacter)
}

/** Whole lines. */
export function escapeControlsInLines(text: string): string {
  return text.replaceAll(HIDDEN_IN_LINES, escapeCharacter)
}

function escapeCharacter(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}
