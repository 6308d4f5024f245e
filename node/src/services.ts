import { EDGE } from '@cairn/edge'
import type { ServiceModule } from '@cairn/http'
import { INDEX } from '@cairn/index'
import { INTEROP } from '@cairn/interop'
import { REGISTRY } from '@cairn/registry'
import { STORAGE } from '@cairn/storage'

/** Every service this program has, in the order they start: one that others call goes before them. */
export const SERVICES: readonly ServiceModule[] = [STORAGE, REGISTRY, INDEX, EDGE, INTEROP]
