import { CairnError } from '@cairn/kernel'
import { type Address, parseAddress } from '@cairn/wire'

/** What can be asked for. */
export type Key = { readonly kind: 'name'; readonly name: string } | { readonly kind: 'cid'; readonly cid: Address }

const NAME_PREFIX = 'name:'
/** Wider than what the registry takes: a name that nobody can register is unknown, not malformed. */
const NAME = /^[a-z0-9][a-z0-9._@-]{0,252}$/

/** `name:…` or `b3:…`; the error says what is wrong with anything else. */
export function parseKey(text: string): Key {
  if (!text.startsWith(NAME_PREFIX)) return { kind: 'cid', cid: parseAddress(text) }
  const name = text.slice(NAME_PREFIX.length)
  if (NAME.test(name)) return { kind: 'name', name }
  const detail = 'A name has 1 to 253 of a-z 0-9 . _ @ -, beginning with a letter or digit: name:site@1.0.'
  throw new CairnError('Malformed', detail)
}

export function keyText(key: Key): string {
  return key.kind === 'name' ? `${NAME_PREFIX}${key.name}` : key.cid
}

/** For logs and events: enough to recognise a key one knows, never the whole of it. */
export function keyHint(key: Key): string {
  return key.kind === 'name' ? `${NAME_PREFIX}${key.name.slice(0, 24)}` : key.cid.slice(0, 15)
}
