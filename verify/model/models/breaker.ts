/**
 * An open breaker, its cooldown over: as many probes go out as the policy allows, and only their own
 * success closes it.
 *
 *     callers ── admit ──▶ breaker ◀── record, tick ── janitor ◀── reports ── callers
 *     clock: one cooldown after the other
 */
import type { BreakerAdmission, CallOutcome } from '../../../packages/kernel/src/policy/breaker-core.ts'
import { choose, type Model, step, type Task, wait } from '../model.ts'
import type { Suite } from '../suite.ts'
import type { KernelCores } from './cores.ts'

const POLICY = { windowMs: 10, threshold: 0.5, sample: 1, cooldownMs: 5, probes: 2 }

interface Scene {
  readonly callers: number
  /** How many cooldowns pass. */
  readonly cooldowns: number
}

function halfOpen(cores: KernelCores, name: string, { callers, cooldowns }: Scene): Model {
  const { breaker: core } = cores
  const setup = (): ReturnType<Model['setup']> => {
    const breaker = core.createBreaker(POLICY)
    core.record(breaker, core.admit(breaker, 0), 'failed', 0)
    const clock = { now: 0 }
    const reports: { admission: BreakerAdmission; outcome: CallOutcome; round: number }[] = []
    /** What this round of HalfOpen has seen; a new round begins each time the breaker opens halfway. */
    const history = { round: 0, probes: 0, ok: 0, isClosedTooSoon: false }

    function* caller(): Task {
      yield step('asks')
      const admission = core.admit(breaker, clock.now)
      if (admission.tag === 'refused') return
      const { round } = history
      if (admission.tag === 'probe') history.probes += 1
      const outcome = yield choose(`calls (${admission.tag})`, ['ok', 'failed', 'lost'], [admission, round])
      if (outcome === 'ok' || outcome === 'failed') reports.push({ admission, outcome, round })
    }

    function* janitor(): Task {
      for (let swept = -1; ; ) {
        yield wait('sweeps', () => reports.length > 0 || swept < clock.now, swept)
        swept = clock.now
        for (const { admission, outcome, round } of reports.splice(0)) {
          if (admission.tag === 'probe' && outcome === 'ok' && round === history.round) history.ok += 1
          write(() => core.record(breaker, admission, outcome, clock.now))
        }
        write(() => core.tick(breaker, clock.now))
      }
    }

    const write = (change: () => void): void => {
      const before = breaker.state.tag
      change()
      const after = breaker.state.tag
      if (before === 'half-open' && after === 'closed') history.isClosedTooSoon ||= history.ok < POLICY.probes
      if (before !== 'half-open' && after === 'half-open')
        Object.assign(history, { round: history.round + 1, probes: 0, ok: 0 })
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= callers; count += 1) tasks[`caller-${count}`] = caller
    tasks['clock'] = function* () {
      for (let passed = 0; passed < cooldowns; passed += 1) {
        yield step('a cooldown passes', passed)
        clock.now += POLICY.cooldownMs
      }
    }
    tasks['janitor'] = janitor

    return {
      state: { breaker, clock, reports, history },
      tasks,
      daemons: ['janitor'],
      never: () => ({
        'too-many-probes': history.probes > POLICY.probes,
        'closed-without-enough-successes': history.isClosedTooSoon,
      }),
      neverAtEnd: () => ({ 'reports-unread': reports.length > 0 }),
    }
  }
  return { name, setup }
}

interface Recovery {
  readonly callers: number
  /** How long nobody asks once the breaker is half-open: longer than a probe may take. */
  readonly idleMs: number
  /** How many calls are not waited for. */
  readonly abandoned: number
}

/**
 * A target that is back answers every probe in time, whenever the probes are asked for. Time passes a millisecond after the
 * other; it stands still only where the answer of a probe would come too late.
 */
function recovers(cores: KernelCores, name: string, { callers, idleMs, abandoned }: Recovery): Model {
  const { breaker: core } = cores
  /** As coarse as it can be: a probe answers in the millisecond it went out in, or in the next. */
  const policy = { ...POLICY, cooldownMs: 2 }
  const { cooldownMs } = policy
  /** Enough for a whole recovery, and more than one that starts again needs. */
  const horizonMs = cooldownMs + idleMs + (policy.probes + abandoned) * cooldownMs
  const setup = (): ReturnType<Model['setup']> => {
    const breaker = core.createBreaker(policy)
    core.record(breaker, core.admit(breaker, 0), 'failed', 0)
    const clock = { now: 0, idle: 0, abandoned: 0 }
    const reports: { admission: BreakerAdmission; outcome: CallOutcome }[] = []
    /** When each probe went out, as its caller knows. */
    const out = new Map<string, number>()
    const isClosed = (): boolean => breaker.state.tag === 'closed'

    function* caller(self: string): Task {
      for (;;) {
        yield wait('asks', () => breaker.state.tag !== 'open' && (isClosed() || hasProbe()))
        if (isClosed()) return
        const admission = core.admit(breaker, clock.now)
        if (admission.tag !== 'probe') continue
        out.set(self, clock.now)
        const ways = clock.abandoned < abandoned ? ['answered', 'abandoned'] : ['answered']
        const how = yield choose('is', ways, [admission, ways])
        out.delete(self)
        if (how === 'abandoned') clock.abandoned += 1
        reports.push({ admission, outcome: how === 'abandoned' ? 'abandoned' : 'ok' })
      }
    }

    const hasProbe = (): boolean => breaker.state.tag === 'half-open' && breaker.state.probesLeft > 0

    const mayPass = (): boolean => {
      if (reports.length > 0 || isClosed()) return false
      for (const at of out.values()) if (clock.now + 1 >= at + cooldownMs) return false
      return breaker.state.tag === 'open' || out.size > 0 || clock.idle < idleMs
    }

    const tasks: Record<string, () => Task> = {}
    for (let count = 1; count <= callers; count += 1) tasks[`caller-${count}`] = () => caller(`caller-${count}`)
    tasks['clock'] = function* () {
      while (clock.now < horizonMs) {
        yield wait('a millisecond passes', mayPass)
        if (breaker.state.tag === 'half-open' && out.size === 0) clock.idle += 1
        clock.now += 1
      }
    }
    tasks['janitor'] = function* () {
      for (let swept = -1; ; ) {
        yield wait('sweeps', () => reports.length > 0 || swept < clock.now, swept)
        swept = clock.now
        for (const { admission, outcome } of reports.splice(0)) core.record(breaker, admission, outcome, clock.now)
        core.tick(breaker, clock.now)
      }
    }

    return {
      state: { breaker, clock, reports, out },
      tasks,
      daemons: ['janitor', 'clock'],
      neverAtEnd: () => ({ 'never-closed': !isClosed() }),
      eventually: () => ({ 'a target that answers is closed in the end': isClosed() }),
    }
  }
  return { name, setup }
}

export const BREAKER: Suite<KernelCores> = {
  name: 'half-open breaker',
  smallest: (cores) => [halfOpen(cores, 'breaker: 2 callers, 1 cooldown', { callers: 2, cooldowns: 1 })],
  larger: (cores) => [
    halfOpen(cores, 'breaker: 3 callers, 1 cooldown', { callers: 3, cooldowns: 1 }),
    halfOpen(cores, 'breaker: 3 callers, 3 cooldowns', { callers: 3, cooldowns: 3 }),
    recovers(cores, 'breaker: recovers, 1 caller', { callers: 1, idleMs: 3, abandoned: 0 }),
    recovers(cores, 'breaker: recovers, 2 callers, 1 abandoned', { callers: 2, idleMs: 3, abandoned: 1 }),
  ],
  mutants: [
    {
      name: 'the time of a probe does not count from the probe',
      file: 'policy/breaker-core.ts',
      find: 'state.out.push(now)',
      replace: 'state.out.push(0)',
      expect: 'never-closed',
      model: 'breaker: recovers, 1 caller',
    },
    {
      name: 'a probe that was abandoned is lost',
      file: 'policy/breaker-core.ts',
      find: 'state.probesLeft += 1',
      replace: 'state.probesLeft += 0',
      expect: 'never-closed',
      model: 'breaker: recovers, 2 callers, 1 abandoned',
    },
    {
      name: 'a probe is not taken away',
      file: 'policy/breaker-core.ts',
      find: 'state.probesLeft -= 1',
      replace: '',
      expect: 'too-many-probes',
    },
    {
      name: 'one success closes',
      file: 'policy/breaker-core.ts',
      find: 'if (state.ok >= policy.probes)',
      replace: 'if (state.ok >= 1)',
      expect: 'closed-without-enough-successes',
    },
    {
      name: 'an answer from an earlier round counts',
      file: 'policy/breaker-core.ts',
      find: "if (admission.tag === 'refused' || admission.round !== breaker.round) return",
      replace: "if (admission.tag === 'refused') return",
      expect: 'closed-without-enough-successes',
    },
  ],
}
