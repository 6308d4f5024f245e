import type { ObjectFacts } from '@cairn/store'
import type { Address } from '@cairn/wire'

/** Which objects there are, and who keeps them: of one drive, or of all targets together. `ObjectStore` is one. */
export interface Objects {
  /** The same as `stat` gave lately, at once; nothing if that is not known. */
  statRecent(id: Address): ObjectFacts | undefined
  stat(id: Address): Promise<ObjectFacts | undefined>
  /** Ids in order, after the given one, of what is on this node. */
  list(after: Address | undefined, limit: number): Promise<Address[]>
  /** Whether there was one. `Conflict` `referenced` while anybody holds it. */
  remove(id: Address): Promise<boolean>
  hold(owner: string, id: Address): Promise<void>
  release(owner: string, id: Address): Promise<boolean>
}
