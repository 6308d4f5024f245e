import type { ServiceModule } from '@cairn/platform'
import { STORAGE } from '@cairn/storage'

/** Every service this program has, in the order they start. */
export const SERVICES: readonly ServiceModule[] = [STORAGE]
