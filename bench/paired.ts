/** For benches whose two sides are measured together, slice by slice: whoever asks first runs it, the other's figure waits. */

export type Side = 'ours' | 'peer'

export type Figures = Readonly<Record<Side, number>>

export class Pair {
  readonly #run: () => Promise<Figures>
  #waiting: { readonly side: Side; readonly figure: number } | undefined

  constructor(run: () => Promise<Figures>) {
    this.#run = run
  }

  async take(side: Side): Promise<number> {
    const waiting = this.#waiting
    this.#waiting = undefined
    if (waiting?.side === side) return waiting.figure
    const figures = await this.#run()
    const other = side === 'ours' ? 'peer' : 'ours'
    this.#waiting = { side: other, figure: figures[other] }
    return figures[side]
  }
}
