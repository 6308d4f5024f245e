/**
 * Text of others, as it may be shown to a person: what a terminal would act on, what turns the direction of a line round
 * and what takes no room at all is written as its number. Programs read `--json`, which has it as it is.
 */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
const HIDDEN_IN_LINES = /(?![\n\t])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu

/** One field of a line: also without line breaks, which would make two of it. */
export function visible(text: string): string {
  return text.replaceAll(HIDDEN, numbered)
}

/** Whole lines. */
export function visibleLines(text: string): string {
  return text.replaceAll(HIDDEN_IN_LINES, numbered)
}

function numbered(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase()}}`
}
