import type { ServiceModule } from '@cairn/platform'
import { REGISTRY } from '@cairn/registry'
import { STORAGE } from '@cairn/storage'

/** Every service this program has, in the order they start: one that others call goes before them. */
export const SERVICES: readonly ServiceModule[] = [STORAGE, REGISTRY]
