import type { Suite } from '../suite.ts'
import { BREAKER } from './breaker.ts'
import { BROADCAST } from './broadcast.ts'
import type { KernelCores } from './cores.ts'
import { DRAIN_DEADLINE } from './drain-deadline.ts'
import { HEDGE } from './hedge.ts'
import { OWNED } from './owned.ts'
import { QUEUE_DRAIN } from './queue-drain.ts'
import { READINESS } from './readiness.ts'
import { SEMAPHORE } from './semaphore.ts'
import { STOP_TOGETHER } from './stop-together.ts'
import { SUPERVISOR } from './supervisor.ts'
import { TOKEN_BUCKET } from './token-bucket.ts'
import { WAITERS } from './waiters.ts'
import { WATCH } from './watch.ts'

/** Every suite over the kernel's cores. */
export const KERNEL_SUITES: readonly Suite<KernelCores>[] = [
  QUEUE_DRAIN,
  WAITERS,
  WATCH,
  OWNED,
  BROADCAST,
  DRAIN_DEADLINE,
  STOP_TOGETHER,
  SUPERVISOR,
  BREAKER,
  SEMAPHORE,
  TOKEN_BUCKET,
  HEDGE,
  READINESS,
]
