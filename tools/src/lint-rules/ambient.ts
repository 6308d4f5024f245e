/** What a deterministic program may not reach for: time, chance, races and process events come from outside. */
import { globalUses } from './global-uses.ts'
import { type Rule, rule } from './rule.ts'

function forbidden(description: string, paths: readonly string[], advice: string): Rule {
  return rule(description, (context) => ({
    Program() {
      for (const { path, node } of globalUses(context)) {
        if (paths.includes(path)) context.report({ node, message: `${path} is not used here. ${advice}` })
      }
    },
  }))
}

export const noAmbientTime = forbidden(
  'time comes from the Clock that is handed in',
  [
    'setTimeout',
    'setInterval',
    'setImmediate',
    'clearTimeout',
    'clearInterval',
    'clearImmediate',
    'queueMicrotask',
    'scheduler.wait',
    'scheduler.yield',
    'process.nextTick',
    'process.hrtime',
    'process.uptime',
    'Date.now',
    'Date()',
    'new Date()',
    'performance.now',
    'Temporal.Now',
  ],
  'Take the time, or a timer, from the Clock you were given.',
)

export const noAmbientRandomness = forbidden(
  'chance comes from the Random that is handed in',
  [
    'Math.random',
    'crypto.getRandomValues',
    'crypto.randomUUID',
    'crypto.randomBytes',
    'crypto.randomInt',
    'crypto.randomFill',
    'crypto.randomFillSync',
    'crypto.webcrypto.getRandomValues',
    'crypto.webcrypto.randomUUID',
  ],
  'Draw from the Random you were given.',
)

export const noRace = forbidden(
  'a wait is canceled inside the primitive, never raced from outside',
  ['Promise.race', 'Promise.any', 'AbortSignal.any', 'AbortSignal.timeout'],
  'It leaves its losers waiting and listening. Pass the signal or the deadline to the primitive that waits.',
)

export const noProcessEvents = forbidden(
  'only the platform listens to the process',
  ['on', 'once', 'addListener', 'prependListener', 'prependOnceListener'].map((name) => `process.${name}`),
  'Signals and exits arrive through the platform.',
)
