import { test } from 'node:test'
import fc from 'fast-check'
import { choose, type Model, step, type Task, wait } from './model.ts'
import { assertAgreement } from './suite.ts'

/** Small programs over three shared cells: copy, add, wait for a value, flip a coin. */
type Instruction =
  | { readonly tag: 'copy'; readonly from: number; readonly to: number }
  | { readonly tag: 'add'; readonly to: number }
  | { readonly tag: 'await'; readonly from: number }
  | { readonly tag: 'flip'; readonly to: number }

const cell = fc.nat({ max: 2 })
const instruction: fc.Arbitrary<Instruction> = fc.oneof(
  fc.record({ tag: fc.constant('copy' as const), from: cell, to: cell }),
  fc.record({ tag: fc.constant('add' as const), to: cell }),
  fc.record({ tag: fc.constant('await' as const), from: cell }),
  fc.record({ tag: fc.constant('flip' as const), to: cell }),
)
const programs = fc.array(fc.array(instruction, { maxLength: 2 }), { minLength: 1, maxLength: 3 })

function toModel(program: readonly (readonly Instruction[])[]): Model {
  return {
    name: 'random program',
    setup() {
      const cells = [0, 0, 0]
      const read = (at: number): number => cells[at] ?? 0
      function* run(instructions: readonly Instruction[]): Task {
        for (const [at, next] of instructions.entries()) {
          if (next.tag === 'await') yield wait('awaits', () => read(next.from) > 0, at)
          else if (next.tag === 'flip') cells[next.to] = Number(yield choose('flips', ['0', '1'], at))
          else if (next.tag === 'add') {
            yield step('adds', at)
            cells[next.to] = read(next.to) + 1
          } else {
            yield step('reads', at)
            const value = read(next.from)
            yield step('writes', [at, value])
            cells[next.to] = value
          }
        }
      }
      return {
        state: cells,
        tasks: Object.fromEntries(program.map((instructions, at) => [`task-${at}`, () => run(instructions)])),
        never: () => ({ 'cell-is-three': cells.includes(3) }),
        neverAtEnd: () => ({ 'all-equal': new Set(cells).size === 1 && read(0) > 0 }),
      }
    },
  }
}

test('hashed and depth-first agree on any small program', () => {
  fc.assert(
    fc.property(programs, (program) => {
      assertAgreement(toModel(program))
    }),
    { numRuns: 200 },
  )
})
