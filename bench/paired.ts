/** For benches whose sides are measured together, slice by slice: whoever asks first runs it, the others' figures wait. */

export type Side = 'ours' | 'peer' | 'bound'

export type Figures = Readonly<Record<'ours' | 'peer', number> & Partial<Record<Side, number>>>

export class Pair {
  readonly #run: () => Promise<Figures>
  #waiting: Partial<Figures> = {}

  constructor(run: () => Promise<Figures>) {
    this.#run = run
  }

  async take(side: Side): Promise<number> {
    const waiting = this.#waiting
    if (waiting[side] !== undefined) return this.#taken(waiting, side)
    const figures = await this.#run()
    return this.#taken(figures, side)
  }

  #taken(figures: Partial<Figures>, side: Side): number {
    const { [side]: figure, ...others } = figures
    this.#waiting = others
    return figure ?? Number.NaN
  }
}
