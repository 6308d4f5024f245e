import { canonicalJson, equalBytes, parseJson } from '@cairn/wire'
import { isObject } from '../targets/shapes.ts'

/** Reads one spelling of JSON only, and breaks at a list that has grown beside a member that is gone. */
export function readSpelled(input: Uint8Array): void {
  if (input.length > 1000) throw new Error('no input is as long as this')
  const value = parseJson(input)
  if (!isObject(value) || !equalBytes(canonicalJson(value), input)) return
  const { list, name } = value
  if (Array.isArray(list) && list.length > 4 && name === undefined)
    throw new Error('planted: the list is long and the name is gone')
}
