import type { Source } from '../suite.ts'

/** The kernel's cores as modules, so that the same model runs on the real ones and on a broken copy. */
export interface KernelCores {
  readonly waiters: typeof import('../../../packages/kernel/src/channel/waiters.ts')
  readonly queue: typeof import('../../../packages/kernel/src/channel/queue-core.ts')
  readonly watch: typeof import('../../../packages/kernel/src/channel/watch-core.ts')
  readonly broadcast: typeof import('../../../packages/kernel/src/channel/broadcast-core.ts')
  readonly shutdown: typeof import('../../../packages/kernel/src/task/shutdown-core.ts')
  readonly shutdownShell: typeof import('../../../packages/kernel/src/task/shutdown.ts')
  readonly supervisor: typeof import('../../../packages/kernel/src/task/supervisor-core.ts')
  readonly owned: typeof import('../../../packages/kernel/src/task/owned.ts')
  readonly breaker: typeof import('../../../packages/kernel/src/policy/breaker-core.ts')
  readonly hedge: typeof import('../../../packages/kernel/src/policy/hedge-core.ts')
  readonly semaphore: typeof import('../../../packages/kernel/src/policy/semaphore-core.ts')
  readonly bucket: typeof import('../../../packages/kernel/src/policy/token-bucket-core.ts')
  readonly health: typeof import('../../../packages/kernel/src/observe/health.ts')
}

const FILES: Readonly<Record<keyof KernelCores, string>> = {
  waiters: 'channel/waiters.ts',
  queue: 'channel/queue-core.ts',
  watch: 'channel/watch-core.ts',
  broadcast: 'channel/broadcast-core.ts',
  shutdown: 'task/shutdown-core.ts',
  shutdownShell: 'task/shutdown.ts',
  supervisor: 'task/supervisor-core.ts',
  owned: 'task/owned.ts',
  breaker: 'policy/breaker-core.ts',
  hedge: 'policy/hedge-core.ts',
  semaphore: 'policy/semaphore-core.ts',
  bucket: 'policy/token-bucket-core.ts',
  health: 'observe/health.ts',
}

export const KERNEL: Source<KernelCores> = {
  directory: new URL('../../../packages/kernel/src/', import.meta.url),
  async load(directory) {
    const loaded = await Promise.all(
      Object.entries(FILES).map(async ([name, file]) => [
        name,
        (await import(new URL(file, directory).href)) as unknown,
      ]),
    )
    return Object.fromEntries(loaded) as KernelCores
  },
}
