import type { Model } from './model.ts'
import { type Choice, World } from './world.ts'

/** Choices in order, and for a liveness failure the loop that follows them for ever. */
export interface Schedule {
  readonly choices: readonly Choice[]
  readonly loop: readonly Choice[]
}

/**
 * A schedule as a short string: a letter per step for the task (a is the first), followed by the number
 * of the branch where the task had several; a loop stands in parentheses. `aab1(cd)` reads: the first
 * task twice, the second by its branch 1, then the third and fourth in turn for ever.
 */
export function formatSchedule(model: Model, { choices, loop }: Schedule): string {
  const world = new World(model)
  const letter = (choice: Choice): string => {
    const branches = world.pending(choice.task)?.branches.length ?? 0
    world.take(choice)
    return String.fromCharCode(FIRST_LETTER + choice.task) + (branches > 1 ? choice.branch : '')
  }
  const text = choices.map(letter).join('')
  return loop.length === 0 ? text : `${text}(${loop.map(letter).join('')})`
}

/** Reads what `formatSchedule` wrote. */
export function parseSchedule(text: string): Schedule {
  const [, choices, loop] = /^((?:[a-z]\d*)*)(?:\(((?:[a-z]\d*)*)\))?$/.exec(text) ?? []
  if (choices === undefined) throw new Error(`"${text}" is not a schedule: letters, each with an optional number.`)
  return { choices: parseChoices(choices), loop: parseChoices(loop ?? '') }
}

function parseChoices(text: string): Choice[] {
  return Array.from(text.matchAll(/([a-z])(\d*)/g), ([, letter = '', branch]) => ({
    task: letter.charCodeAt(0) - FIRST_LETTER,
    branch: Number(branch || 0),
  }))
}

const FIRST_LETTER = 'a'.charCodeAt(0)
