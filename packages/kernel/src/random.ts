/** Randomness, as something handed in: the machine's in production, a seed's in tests and simulation. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** `length` random bytes. */
  bytes(length: number): Uint8Array<ArrayBuffer>
}

/** The platform's cryptographic randomness; `next` has 32 bits, enough for jitter and choices. */
export class SystemRandom implements Random {
  readonly #word = new Uint32Array(1)

  next(): number {
    crypto.getRandomValues(this.#word)
    return (this.#word[0] ?? 0) / 0x1_0000_0000
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    return crypto.getRandomValues(new Uint8Array(length))
  }
}

/** The same seed gives the same sequence, on every machine (sfc32). Not for secrets. */
export class SeededRandom implements Random {
  #a = 0x9e37_79b9
  #b = 0x243f_6a88
  #c: number
  #counter = 1

  constructor(seed: number) {
    this.#c = seed | 0
    for (let round = 0; round < 12; round += 1) this.#word()
  }

  next(): number {
    return this.#word() / 0x1_0000_0000
  }

  bytes(length: number): Uint8Array<ArrayBuffer> {
    const out = new Uint8Array(length)
    for (let at = 0; at < length; at += 1) out[at] = this.#word() & 0xff
    return out
  }

  #word(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0
    this.#counter = (this.#counter + 1) | 0
    this.#a = this.#b ^ (this.#b >>> 9)
    this.#b = (this.#c + (this.#c << 3)) | 0
    this.#c = ((this.#c << 21) | (this.#c >>> 11)) + sum
    return sum >>> 0
  }
}
