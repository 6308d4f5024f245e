/**
 * The audit: what is allowed goes into the chain and waits for it; what is refused goes through a ring that drops its
 * oldest; the drive may refuse a whole line of writes.
 *
 *     allow ─▶ line of the chain ─▶ in line ─┐
 *     deny ─▶ [ ring ] ─▶ sink ─▶ the same ──┴─▶ drive: all durable, or none
 */
import type { AuditFacts } from '@cairn/clients'
import { verifyAudit } from '@cairn/clients'
import { type Model, select, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { InteropCores } from './cores.ts'

interface Scene {
  readonly allows: number
  readonly denies: number
  readonly capacity: number
  readonly failures: number
}

interface Submission {
  readonly lines: readonly string[]
  end: 'durable' | 'failed' | undefined
}

function facts(decision: AuditFacts['decision'], name: string): AuditFacts {
  const rest = { reason: '', provider: '', event: '', delivery: name, b3: null, secret: '', corr_id: '' }
  return { at: 1, decision, action: 'webhook', ...rest }
}

class Recorder {
  readonly chain: InstanceType<InteropCores['chain']['AuditChain']>
  readonly inLine: Submission[] = []
  readonly durable: string[] = []
  readonly ring: string[] = []
  readonly scene: Scene
  readonly history

  constructor(cores: InteropCores, scene: Scene) {
    this.scene = scene
    this.chain = new cores.chain.AuditChain()
    const told: string[] = []
    this.history = { told, dropped: 0, written: 0, denied: 0, failuresLeft: scene.failures, isOver: false }
  }

  *allower(): Task {
    for (let at = 1; at <= this.scene.allows; ) {
      yield step(`allows ${at}`)
      const submission = this.#submit([facts('allow', `a${at}`)])
      yield wait('waits until it is durable', () => submission.end !== undefined, submission)
      // Its sender hears of the failure and comes again.
      if (submission.end === 'failed') continue
      this.history.told.push(`a${at}`)
      at += 1
    }
  }

  *denier(): Task {
    for (let at = 1; at <= this.scene.denies; at += 1) {
      yield step(`refuses ${at}`, at)
      this.history.denied += 1
      if (this.ring.length === this.scene.capacity) {
        this.ring.shift()
        this.history.dropped += 1
      }
      this.ring.push(`d${at}`)
    }
    this.history.isOver = true
  }

  *sink(): Task {
    for (;;) {
      const isOver = (): boolean => this.history.isOver && this.ring.length === 0
      const how = yield select('waits for a refusal', { one: () => this.ring.length > 0, over: isOver })
      if (how === 'over') return
      const taken = this.ring.splice(0)
      for (;;) {
        const submission = this.#submit(taken.map((each) => facts('deny', each)))
        yield wait('waits until they are durable', () => submission.end !== undefined, [submission, taken])
        if (submission.end === 'durable') break
      }
      this.history.written += taken.length
    }
  }

  *drive(): Task {
    for (;;) {
      yield wait('has something to write', () => this.inLine.length > 0)
      const how = yield select('writes', { well: () => true, badly: () => this.history.failuresLeft > 0 })
      if (how === 'badly') this.history.failuresLeft -= 1
      for (const submission of this.inLine.splice(0)) this.#settle(submission, how === 'well')
    }
  }

  #submit(each: readonly AuditFacts[]): Submission {
    const { lines, end } = this.chain.draft(each)
    const submission: Submission = { lines, end: undefined }
    this.inLine.push(submission)
    this.chain.advance(end)
    return submission
  }

  #settle(submission: Submission, isDurable: boolean): void {
    submission.end = isDurable ? 'durable' : 'failed'
    if (!isDurable) {
      this.chain.failed()
      return
    }
    this.durable.push(...submission.lines)
    this.chain.fold(submission.lines, 1, this.durable.length)
  }
}

function auditing(cores: InteropCores, name: string, scene: Scene): Model {
  const setup = (): ReturnType<Model['setup']> => {
    const world = new Recorder(cores, scene)
    const { durable, inLine, ring, history, chain } = world
    const has = (delivery: string): boolean => durable.some((line) => line.includes(`"delivery":"${delivery}"`))
    const shown = {
      get all() {
        return [chain.submitted, chain.point]
      },
    }
    return {
      state: { durable, inLine, ring, history, shown },
      tasks: {
        allower: () => world.allower(),
        denier: () => world.denier(),
        sink: () => world.sink(),
        drive: () => world.drive(),
      },
      daemons: ['drive'],
      never: () => ({
        'chain-broken': isBroken(durable),
        'allowed-and-not-in-the-audit': history.told.some((each) => !has(each)),
        'refusal-lost-unseen': ring.length > scene.capacity,
      }),
      neverAtEnd: () => ({
        'refusals-do-not-add-up': history.written + history.dropped !== history.denied,
        'not-everyone-told': history.told.length !== scene.allows,
      }),
      leaks: () => ({ inLine: inLine.length, ring: ring.length }),
    }
  }
  return { name, setup }
}

function isBroken(lines: readonly string[]): boolean {
  const encoder = new TextEncoder()
  return (
    verifyAudit(
      lines.map((line) => encoder.encode(line)),
      [],
    ).tag === 'broken'
  )
}

export const AUDIT_RING: Suite<InteropCores> = {
  name: 'the audit ring and the chain',
  smallest: (cores) => [
    auditing(cores, 'audit: one allowed, one refused', { allows: 1, denies: 1, capacity: 1, failures: 0 }),
  ],
  larger: (cores) => [
    auditing(cores, 'audit: two allowed, a flood of three in a ring of one', {
      allows: 2,
      denies: 3,
      capacity: 1,
      failures: 0,
    }),
    auditing(cores, 'audit: the drive refuses once', { allows: 2, denies: 2, capacity: 1, failures: 1 }),
  ],
  mutants: [
    {
      name: 'lines that were in line with a failed write still count',
      file: 'domain/audit-chain.ts',
      find: 'this.#submitted = this.#durable',
      replace: '',
      expect: 'chain-broken',
    },
    {
      name: 'a line that is in line is not followed by the next',
      file: 'domain/audit-chain.ts',
      find: 'this.#submitted = end',
      replace: '',
      expect: 'chain-broken',
    },
  ],
}
