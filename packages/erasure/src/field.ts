/**
 * GF(2⁸): bytes as polynomials over one bit, modulo x⁸ + x⁴ + x³ + x² + 1. Adding is exclusive or; x generates every
 * element but zero, so multiplying adds logarithms.
 */

const POLYNOMIAL = 0x11d
/** How many elements are not zero: the powers of x repeat after as many. */
const ORDER = 255

/** `POWERS[n]` is xⁿ, twice around, so that a sum of two logarithms needs no reduction. */
const POWERS: Readonly<Uint8Array> = (() => {
  const powers = new Uint8Array(2 * ORDER)
  let power = 1
  for (let exponent = 0; exponent < ORDER; exponent++) {
    powers[exponent] = power
    powers[exponent + ORDER] = power
    power <<= 1
    if (power > 0xff) power ^= POLYNOMIAL
  }
  return powers
})()

/** `LOGARITHMS[a]` is the exponent of the power that is `a`; zero has none. */
const LOGARITHMS: Readonly<Uint8Array> = (() => {
  const logarithms = new Uint8Array(ORDER + 1)
  for (let exponent = 0; exponent < ORDER; exponent++) logarithms[POWERS[exponent] ?? 0] = exponent
  return logarithms
})()

/** The exponent of `a`, which is not zero. */
export function logarithm(a: number): number {
  return LOGARITHMS[a] ?? 0
}

/** x to any exponent, also a negative one. */
export function power(exponent: number): number {
  const remainder = exponent % ORDER
  return POWERS[remainder < 0 ? remainder + ORDER : remainder] ?? 0
}

function multiply(a: number, b: number): number {
  return a === 0 || b === 0 ? 0 : (POWERS[logarithm(a) + logarithm(b)] ?? 0)
}

/** Both halves of a byte are looked up by themselves: sixteen products each, which is one vector. */
export const NIBBLES = 16
/** A coefficient's products: those with the low halves, then those with the high ones. */
export const PRODUCTS_BYTES = 2 * NIBBLES

/** `c · byte` is `PRODUCTS[32c + (byte & 15)] ^ PRODUCTS[32c + 16 + (byte >> 4)]`. */
export const PRODUCTS: Readonly<Uint8Array> = (() => {
  const products = new Uint8Array((ORDER + 1) * PRODUCTS_BYTES)
  for (let coefficient = 0; coefficient <= ORDER; coefficient++) {
    for (let nibble = 0; nibble < NIBBLES; nibble++) {
      products[coefficient * PRODUCTS_BYTES + nibble] = multiply(coefficient, nibble)
      products[coefficient * PRODUCTS_BYTES + NIBBLES + nibble] = multiply(coefficient, nibble << 4)
    }
  }
  return products
})()
