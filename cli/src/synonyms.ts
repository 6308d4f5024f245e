/** What other tools call it: for words that are no command here, what is. */

const BY_WORD: Readonly<Record<string, string>> = {
  add: 'cairn calls that put',
  cat: 'cairn calls that get: cairn get ADDRESS -o -',
  console: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  cp: 'cairn calls that put, and the way back get',
  delete: 'cairn calls that rm',
  download: 'cairn calls that get',
  fetch: 'cairn calls that get',
  hash: 'cairn put -q PATH stores it and prints its address',
  list: 'cairn calls that ls',
  logs: 'a node writes its log to the standard error of cairn start',
  open: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  pin: 'cairn calls that put: what is stored stays until cairn rm',
  publish: 'cairn put PATH, then cairn name propose NAME ADDRESS',
  remove: 'cairn calls that rm',
  sync: 'cairn calls that put: run again, it sends only what is missing',
  ui: 'there is no page yet; the API is shown at /api of the node, whose URL cairn status prints',
  upload: 'cairn calls that put',
  verify: 'did you mean cairn verify-proof, cairn registry verify or cairn audit verify?',
  version: 'did you mean cairn --version?',
  'name list': 'cairn name log lists every name as it was given its meaning, newest first',
  'name ls': 'cairn name log lists every name as it was given its meaning, newest first',
  'name proposals': 'did you mean cairn name pending?',
}

const BY_OPTION: Readonly<Record<string, string>> = { '-v': '--version', '-V': '--version', '-?': '--help' }

/** What to say of a command that is none, if somebody may well expect it. */
export function synonymOf(typed: string): string | undefined {
  return Object.hasOwn(BY_WORD, typed) ? BY_WORD[typed] : undefined
}

export function optionMeant(typed: string): string | undefined {
  return Object.hasOwn(BY_OPTION, typed) ? BY_OPTION[typed] : undefined
}
