/** Notes every state of an index in the record of the disk, so that a crash image can be given the index of its moment. */
import type { Kv, KvOpener, SortedMap } from '@cairn/platform'
import type { VirtualMachine } from '../virtual/machine.ts'

export class KvRecord {
  readonly #machine: VirtualMachine
  readonly #states: { readonly path: string; readonly map: SortedMap }[] = []

  constructor(machine: VirtualMachine) {
    this.#machine = machine
  }

  /** An opener whose commits are noted when they begin and when they are durable. */
  watch(opener: KvOpener): KvOpener {
    return { open: async (path, options) => this.#watchKv(path, await opener.open(path, options)) }
  }

  /** The index at the moment of the crash: as last told, or with the commit that was under way. */
  at(marks: readonly string[], withUnderWay: boolean): { readonly path: string; readonly map: SortedMap } | undefined {
    const done = marks.findLast((mark) => mark.startsWith(withUnderWay ? 'kv-begin ' : 'kv '))
    return done === undefined ? undefined : this.#states[Number(done.split(' ')[1])]
  }

  #watchKv(path: string, kv: Kv): Kv {
    const shelf = this.#machine.shelves.at(path)
    return {
      get: (key) => kv.get(key),
      range: (range) => kv.range(range),
      close: async () => await kv.close(),
      [Symbol.asyncDispose]: async () => await kv.close(),
      commit: async (operations) => {
        const number = this.#states.push({ path, map: shelf.map.apply(operations) }) - 1
        this.#machine.drive.mark(`kv-begin ${number}`)
        await kv.commit(operations)
        this.#machine.drive.mark(`kv ${number}`)
      },
    }
  }
}
