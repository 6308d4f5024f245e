import assert from 'node:assert/strict'
import { test } from 'node:test'
import { carrylessProduct } from '../test/textbook.ts'
import { logarithm, NIBBLES, PRODUCTS, PRODUCTS_BYTES, power } from './field.ts'

test('the tables of half bytes give every product of two bytes', () => {
  for (let coefficient = 0; coefficient < 256; coefficient++) {
    const low = PRODUCTS.subarray(coefficient * PRODUCTS_BYTES, coefficient * PRODUCTS_BYTES + NIBBLES)
    const high = PRODUCTS.subarray(coefficient * PRODUCTS_BYTES + NIBBLES, (coefficient + 1) * PRODUCTS_BYTES)
    for (let byte = 0; byte < 256; byte++) {
      const product = low[byte & 15]! ^ high[byte >> 4]!
      assert.equal(product, carrylessProduct(coefficient, byte), `${coefficient} · ${byte}`)
    }
  }
})

test('logarithms add up to products and subtract to quotients', () => {
  for (let a = 1; a < 256; a++) {
    for (let b = 1; b < 256; b++) {
      assert.equal(power(logarithm(a) + logarithm(b)), carrylessProduct(a, b), `${a} · ${b}`)
      assert.equal(carrylessProduct(power(logarithm(a) - logarithm(b)), b), a, `${a} / ${b}`)
    }
  }
})
