import type { Mutant } from '../model/mutant.ts'

const file = 'Repair.tla'

/** One line of the specification each, and what no longer holds without it. */
export const REPAIR_MUTANTS: readonly Mutant[] = [
  {
    name: 'urgent repairs are not paced',
    file,
    find: "tokens' = tokens - 1 \\* before anything is sent",
    replace: "tokens' = IF IsUrgent(worker[each].object) THEN tokens ELSE tokens - 1",
    expect: 'BudgetHolds',
  },
  {
    name: 'what is saved up has no bound',
    file,
    find: "tokens' = Min(Burst, tokens + Rate)",
    replace: "tokens' = Min(3 * Burst, tokens + Rate)",
    expect: 'BudgetHolds',
  },
  {
    name: 'no tokens come while somebody waits for them',
    file,
    find: "tokens' = Min(Burst, tokens + Rate)",
    replace:
      'tokens\' = IF \\E each \\in Workers: worker[each].tag = "waiting" THEN tokens ELSE Min(Burst, tokens + Rate)',
    expect: 'liveness',
  },
  {
    name: 'a full queue turns urgent repairs away',
    file,
    find: 'HasRoom(object) == IsUrgent(object) \\/ Cardinality({each \\in queue: ~IsUrgent(each)}) < QueueMax',
    replace: 'HasRoom(object) == Cardinality(queue) < QueueMax',
    expect: 'UrgentHasRoom',
  },
  {
    name: 'a repair that lost its target never lets its worker go',
    file,
    find: 'worker[each].to = gone THEN Idle ELSE worker[each]]',
    replace: 'worker[each].to = gone THEN worker[each] ELSE worker[each]]',
    expect: 'CopiesAreThere',
  },
]
