/** `interop.rules = [{ provider, event, then }]`. */
import { isKind } from '@cairn/kernel'
import { parseName } from '@cairn/names'
import { setting } from '@cairn/platform'
import { z } from 'zod'
import { PROVIDER_NAMES } from '../providers/config.ts'
import type { Effect, Rule } from './rule.ts'

/** Each is looked at for every webhook. */
const RULES_MAX = 256
const TOPIC = /^[a-z0-9][a-z0-9._-]{0,63}$/
const THEN = 'must be "mailbox:topic", "propose:name@version" or "forward:https://…"'

const effectSchema = z.string().transform((text, context): Effect => {
  const read = readEffect(text)
  if (typeof read === 'object') return read
  context.addIssue({ code: 'custom', message: read })
  return z.NEVER
})

/** The effect a text spells, or what is wrong with it. */
function readEffect(text: string): Effect | string {
  const colon = text.indexOf(':')
  const target = text.slice(colon + 1)
  switch (text.slice(0, colon)) {
    case 'mailbox':
      if (TOPIC.test(target)) return { tag: 'mailbox', topic: target }
      return `names the topic ${JSON.stringify(target)}; a topic has 1 to 64 of a-z 0-9 . _ -`
    case 'propose':
      return readProposal(target)
    case 'forward':
      return readForward(target)
    default:
      return THEN
  }
}

function readProposal(name: string): Effect | string {
  try {
    return { tag: 'propose', name: parseName(name) }
  } catch (error) {
    if (isKind(error, 'Malformed')) return `cannot propose: ${error.message}`
    throw error
  }
}

/** Whether plain HTTP may be used, and where to, is for the egress policy: it knows the configuration of forwards. */
function readForward(text: string): Effect | string {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) {
    return `cannot forward to ${JSON.stringify(text)}; write an https:// URL`
  }
  if (url.username !== '' || url.password !== '')
    return 'has a user or password in its URL; the signature proves who sends'
  if (url.hash !== '') return 'has a fragment in its URL, which is never sent; leave it out'
  return { tag: 'forward', url: url.href }
}

const rule = z
  .strictObject({
    provider: z.enum(PROVIDER_NAMES),
    event: z.string().regex(/^[\x21-\x7e]{1,200}$/, 'must be an event of the provider, or "*" for all'),
    // oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration; the rule it becomes has no such field
    then: effectSchema,
  })
  .transform(({ provider, event, then: effect }): Rule => ({ provider, event, effect }))

export const rulesSetting = setting(z.array(rule).max(RULES_MAX), {
  default: [],
  reload: 'restart',
  does: 'What becomes of verified webhooks: `{ provider, event, then }`, the event `*` for all, `then` one of `mailbox:topic`, `propose:name@version`, `forward:https://…`.',
})
