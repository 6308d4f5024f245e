import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { section } from '@cairn/platform'
import { rulesSetting } from '../../src/config.ts'
import { effectId, effectsOf, effectText } from '../../src/rules/rule.ts'

const schema = section({ rules: rulesSetting })
const parse = (rules: unknown) => schema.safeParse({ rules })
// oxlint-disable-next-line unicorn/no-thenable -- a word of the configuration
const rule = (effect: string, event = 'push', provider = 'github') => ({ provider, event, then: effect })

describe('the setting', () => {
  test('each kind of effect, spelled as it is read', () => {
    for (const text of ['mailbox:builds', 'propose:site@1.0', 'forward:https://ci.example/hook?a=1']) {
      const { data } = parse([rule(text)])
      assert.equal(effectText(data!.rules[0]!.effect), text)
    }
  })

  test('what is wrong with a rule is said in words', () => {
    const wrong: readonly (readonly [unknown, RegExp])[] = [
      [rule('mail:x'), /mailbox:topic.*propose:name@version.*forward:https/],
      [rule('mailbox'), /mailbox:topic/],
      [rule('mailbox:Über'), /a topic has 1 to 64/],
      [rule('mailbox:'), /a topic has 1 to 64/],
      [rule('propose:site'), /a name such as site@1\.0/],
      [rule('forward:ftp://x'), /https:\/\/ URL/],
      [rule('forward:here'), /https:\/\/ URL/],
      [rule('forward:https://user:pass@x.example/'), /user or password/],
      [rule('forward:https://x.example/#a'), /fragment/],
      [rule('mailbox:a', 'two words'), /an event of the provider/],
      [rule('mailbox:a', 'push', 'gitlab'), /github/],
      [{ ...rule('mailbox:a'), when: 'always' }, /when/],
    ]
    for (const [bad, says] of wrong) {
      const { success, error } = parse([bad])
      assert.equal(success, false, JSON.stringify(bad))
      assert.match(error.message, says)
    }
  })
})

describe('matching', () => {
  const { rules } = schema.parse({
    rules: [
      rule('mailbox:builds'),
      rule('mailbox:all', '*'),
      rule('mailbox:builds', '*'),
      rule('propose:site@1.0', 'release'),
      rule('mailbox:slack', 'push', 'slack'),
    ],
  })
  const texts = (provider: string, event: string) => effectsOf(rules, provider, event).map(effectText)

  test('a rule is of one provider and one event, or of all its events; the same effect is there once', () => {
    assert.deepEqual(texts('github', 'push'), ['mailbox:builds', 'mailbox:all'])
    assert.deepEqual(texts('github', 'release'), ['mailbox:all', 'mailbox:builds', 'propose:site@1.0'])
    assert.deepEqual(texts('slack', 'push'), ['mailbox:slack'])
    assert.deepEqual(texts('slack', 'release'), [])
    assert.deepEqual(texts('stripe', 'push'), [])
  })

  test('an effect of a message has an id of its own, the same each time', () => {
    const effects = effectsOf(rules, 'github', 'release')
    const ids = effects.flatMap((effect) => [effectId('m1', effect), effectId('m2', effect)])
    assert.equal(new Set(ids).size, 2 * effects.length)
    for (const id of ids) assert.match(id, /^[0-9a-f]{32}$/)
    assert.deepEqual(
      effects.flatMap((effect) => [effectId('m1', effect), effectId('m2', effect)]),
      ids,
    )
  })
})
