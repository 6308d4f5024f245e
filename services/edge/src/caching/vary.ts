/** Which of the stored responses of a key a request may be given (RFC 9111 §4.1). */
import { splitList } from './cache-control.ts'

/** Name and normalised value of each selecting field; no value where the request had none. */
export type Selecting = readonly (readonly [name: string, value: string | undefined])[]

export type FieldOf = (name: string) => string | undefined

/** The values a request has in the fields a response varies on. */
export function selectingOf(names: readonly string[], fieldOf: FieldOf): Selecting {
  return names.map((name) => [name, normalised(name, fieldOf(name))] as const)
}

/** Whether the request is selected by the same; a language it likes best is the one it would be given. */
export function isSelected(selecting: Selecting, fieldOf: FieldOf, contentLanguage?: string): boolean {
  return selecting.every(([name, value]) => {
    const asked = fieldOf(name)
    if (normalised(name, asked) === value) return true
    return name === 'accept-language' && prefersLanguage(asked, contentLanguage)
  })
}

/** Fields whose members' order says nothing, because each has its own weight; and whose case says nothing. */
const WEIGHTED: ReadonlySet<string> = new Set(['accept', 'accept-language', 'accept-encoding', 'accept-charset'])

/** One spelling of a field: fields combined, white space around members gone, and for weighted lists a fixed order. */
function normalised(name: string, value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const members = splitList(value)
  if (!WEIGHTED.has(name)) return members.join(',')
  const plain = members.map((member) => member.toLowerCase().replace(/\s+/g, '')).map(fullWeight)
  return plain.sort().join(',')
}

/** `en;q=1.0` is `en`. */
function fullWeight(member: string): string {
  return member.replace(/;q=1(?:\.0{0,3})?$/, '')
}

function prefersLanguage(acceptLanguage: string | undefined, contentLanguage: string | undefined): boolean {
  if (acceptLanguage === undefined || contentLanguage === undefined) return false
  let best = { language: '', weight: 0 }
  for (const member of splitList(acceptLanguage.toLowerCase())) {
    const [language = '', ...parameters] = member.split(';').map((part) => part.trim())
    const weight = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1)
    if (weight > best.weight) best = { language, weight }
  }
  return best.language === contentLanguage.trim().toLowerCase()
}
