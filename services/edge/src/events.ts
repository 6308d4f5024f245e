import type { Address } from '@cairn/wire'

/** What the edge says happened, as hints. */
export interface EdgeEvents {
  'edge.fill': { readonly route: string; readonly status: number; readonly bytes: number }
  'edge.pack.mounted': { readonly pack: string; readonly address: Address }
}
