/** Which hold is on which object, both ways. A hold's id is made of its object, so a link never changes its meaning. */

const ID_BYTES = 32

export class HoldLinks {
  readonly #objectOf = new Map<string, string>()
  readonly #holdsOf = new Map<string, string>()

  get size(): number {
    return this.#objectOf.size
  }

  add(hold: Uint8Array, object: Uint8Array): void {
    const name = nameOf(hold)
    if (this.#objectOf.has(name)) return
    const held = nameOf(object)
    this.#objectOf.set(name, held)
    this.#holdsOf.set(held, (this.#holdsOf.get(held) ?? '') + name)
  }

  remove(hold: Uint8Array): void {
    const name = nameOf(hold)
    const held = this.#objectOf.get(name)
    if (held === undefined) return
    this.#objectOf.delete(name)
    const rest = names(this.#holdsOf.get(held)).filter((each) => each !== name)
    if (rest.length === 0) this.#holdsOf.delete(held)
    else this.#holdsOf.set(held, rest.join(''))
  }

  of(object: Uint8Array): Uint8Array[] {
    return names(this.#holdsOf.get(nameOf(object))).map((name) =>
      Uint8Array.from(name, (letter) => letter.charCodeAt(0)),
    )
  }
}

function names(packed = ''): string[] {
  return Array.from({ length: packed.length / ID_BYTES }, (_, at) => packed.slice(at * ID_BYTES, (at + 1) * ID_BYTES))
}

function nameOf(id: Uint8Array): string {
  return String.fromCharCode(...id)
}
