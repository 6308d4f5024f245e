/**
 * Turns the test runner's events into a short report and a verdict.
 *
 * A run passes only if at least one test ran, none failed, every file declares tests and, in continuous
 * integration, nothing was skipped for want of vectors or a tool: there they must be present.
 */
import type { TestEvent } from 'node:test/reporters'
import { inspect } from 'node:util'

export interface Verdict {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
  readonly ok: boolean
  readonly text: string
  /** What the long campaigns said of themselves: how many runs, cuts, kills. */
  readonly figures: readonly string[]
}

interface Skip {
  readonly place: string
  readonly reason: string
}

/** A skip whose reason speaks of vectors or a tool: `vectors absent`, `tool absent: java`. */
const IS_WANT = /\b(?:vectors?|tools?)\b/i

const NO_TESTS = 'This file declares no tests.'

const IS_SHORT = /\.(?:test|prop)\.ts$/

export class TestTally {
  readonly #inCi: boolean
  readonly #shorten: (path: string) => string
  readonly #failures: string[] = []
  readonly #skips: Skip[] = []
  readonly #figures: string[] = []
  #passed = 0
  /** Tests in the suite that is ending. */
  #planned = 0

  /** `shorten` turns a test file's absolute path into the one to print. */
  constructor(inCi: boolean, shorten: (path: string) => string) {
    this.#inCi = inCi
    this.#shorten = shorten
  }

  /** Counts one event and returns what to print now, often nothing. */
  take(event: TestEvent): string {
    switch (event.type) {
      case 'test:stdout':
      case 'test:stderr':
        return event.data.message
      case 'test:diagnostic': {
        const { file, message } = event.data
        // A campaign in slices has its tests in a file that each slice calls.
        if (file !== undefined && !IS_SHORT.test(file)) this.#figures.push(message)
        return file === undefined ? '' : `  # ${message}\n`
      }
      case 'test:plan':
        if (event.data.nesting === 1) this.#planned = event.data.count
        return ''
      case 'test:pass':
      case 'test:fail':
        return event.data.details.type === 'suite' ? this.#takeSuite(event) : this.#takeResult(event)
      case 'test:summary': {
        const { file, counts, duration_ms: elapsedMs, success } = event.data
        if (file === undefined) return ''
        return `${success ? 'ok  ' : 'FAIL'} ${this.#shorten(file)}  ${counts.tests} tests, ${elapsedMs.toFixed(0)} ms\n`
      }
      default:
        return ''
    }
  }

  /** A file that runs with others of its package is a suite. */
  #takeSuite(event: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>): string {
    const { name, nesting } = event.data
    const isEmpty = nesting === 0 && this.#planned === 0
    if (nesting === 0) this.#planned = 0
    if (event.type === 'test:fail') return this.#takeResult(event)
    return isEmpty && IS_SHORT.test(name) ? this.fail(name, NO_TESTS) : ''
  }

  #takeResult(event: Extract<TestEvent, { type: 'test:pass' | 'test:fail' }>): string {
    const { name, file = '', line, skip, todo } = event.data
    const isFile = name === file
    const place = isFile ? this.#shorten(file) : `${this.#shorten(file)}:${line} ${name}`
    if (event.type === 'test:fail') {
      const { error } = event.data.details
      if ('failureType' in error && error.failureType === 'subtestsFailed') return ''
      return this.fail(place, describeError(error.cause ?? error))
    }
    if (isFile) return this.fail(place, NO_TESTS)
    const reason = skip ?? todo
    if (reason === undefined || reason === false) {
      this.#passed += 1
      return ''
    }
    const said = typeof reason === 'string' ? reason : 'no reason given'
    if (this.#inCi && IS_WANT.test(said)) {
      return this.fail(place, `Skipped (${said}), but in continuous integration it must run.`)
    }
    this.#skips.push({ place, reason: said })
    return ''
  }

  /** Counts a failure and returns what to print now. */
  fail(place: string, why: string): string {
    const failure = `${place}\n${indent(why)}`
    this.#failures.push(failure)
    return `${indent(failure)}\n`
  }

  /** The verdict and the closing report: failures once more, skips with their reasons, then the totals. */
  end(): Verdict {
    const [passed, failed, skipped] = [this.#passed, this.#failures.length, this.#skips.length]
    const lines: string[] = []
    if (failed > 0) lines.push('', 'Failed:', ...this.#failures.map(indent))
    if (skipped > 0) lines.push('', 'Skipped:', ...this.#skips.map(({ place, reason }) => `  ${place} (${reason})`))
    if (passed + failed === 0) lines.push('', 'No test ran, which proves nothing.')
    lines.push('', `${passed} passed, ${failed} failed, ${skipped} skipped`)
    const text = `${lines.join('\n')}\n`
    return { passed, failed, skipped, ok: passed > 0 && failed === 0, text, figures: this.#figures }
  }
}

/** The stack, which starts with the message, and those of its causes; other fields repeat what the message says. */
function describeError(error: unknown): string {
  if (!(error instanceof Error) || error.stack === undefined) return inspect(error)
  return error.cause === undefined ? error.stack : `${error.stack}\ncaused by ${describeError(error.cause)}`
}

const indent = (text: string): string => text.replace(/^(?=.)/gm, '  ')
