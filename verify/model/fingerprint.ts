/**
 * A value as canonical text: two values get the same text exactly when their structure and their sharing
 * are the same.
 *
 *     const node = { item: 'a' }
 *     fingerprint([node, node])            →  &0[&1{item:"a",},#1,]              one object, met twice
 *     fingerprint([node, { item: 'a' }])   →  &0[&1{item:"a",},&2{item:"a",},]   two that look alike
 *
 * Objects are numbered in the order they are met, so a waiter remembered by a task and linked into a
 * core's list is recognised as the same waiter. Keys are sorted; whatever can be iterated (arrays, Maps,
 * Sets, our own rings and lines) is written in its own order, because programs see that order. Of a
 * function only its presence counts. `#private` fields that are not iterated stay unseen, which the
 * explorer's audit would find; promises and weak collections are refused.
 */
export function fingerprint(root: unknown): string {
  const numbers = new Map<object, number>()
  let text = ''

  const write = (value: unknown): void => {
    if (typeof value === 'object' && value !== null) writeObject(value)
    else text += leaf(value)
  }

  const writeObject = (value: object): void => {
    const known = numbers.get(value)
    if (known !== undefined) {
      text += `#${known}`
      return
    }
    text += `&${numbers.size}`
    numbers.set(value, numbers.size)
    refuseOpaque(value)
    text += className(value)
    if (isIterable(value)) {
      text += '['
      for (const element of value) {
        write(element)
        text += ','
      }
      text += `]${sizeOf(value)}`
      if (Array.isArray(value) || ArrayBuffer.isView(value)) return
    }
    writeFields(value)
  }

  const writeFields = (value: object): void => {
    text += '{'
    if (value instanceof Error) text += JSON.stringify(value.message)
    for (const key of sortedKeys(value)) {
      text += `${key}:`
      write((value as Readonly<Record<string, unknown>>)[key])
      text += ','
    }
    text += '}'
  }

  write(root)
  return text
}

function leaf(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return JSON.stringify(value)
    case 'function':
      return 'ƒ'
    case 'bigint':
      return `${value}n`
    default:
      return Object.is(value, -0) ? '-0' : String(value)
  }
}

/** The class, where it tells something; two classes with the same fields behave differently. */
function className(value: object): string {
  const name = (Object.getPrototypeOf(value) as object | null)?.constructor.name ?? ''
  return name === 'Object' || name === 'Array' ? '' : name
}

/** By insertion: there are few, and to call a comparison for each is most of what a search would do. */
function sortedKeys(value: object): string[] {
  const keys = Object.keys(value)
  for (let end = 1; end < keys.length; end += 1) {
    const key = keys[end] ?? ''
    let at = end
    for (; at > 0 && (keys[at - 1] ?? '') > key; at -= 1) keys[at] = keys[at - 1] ?? ''
    keys[at] = key
  }
  return keys
}

/** What a collection says about its own size, which need not be what it holds while a bug is about. */
function sizeOf(value: object): string {
  if ('size' in value) return String(value.size)
  return 'length' in value ? String(value.length) : ''
}

function isIterable(value: object): value is Iterable<unknown> {
  return Symbol.iterator in value
}

function refuseOpaque(value: object): void {
  if (value instanceof Promise || value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) {
    throw new TypeError(`A model state holds a ${value.constructor.name}, which cannot be compared; keep plain data.`)
  }
}
