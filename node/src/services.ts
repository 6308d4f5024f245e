import type { ServiceModule } from './service-module.ts'

/** Every service this program has, in the order they start. */
export const SERVICES: readonly ServiceModule[] = []
