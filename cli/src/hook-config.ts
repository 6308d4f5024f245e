/** What the configuration of this place says about webhooks: where secrets are, never what they are. */
import { CairnError } from '@cairn/kernel'
import { configSchemas, SERVICES } from '@cairn/node'
import { loadConfig, renderProblems } from '@cairn/platform'
import type { CommandContext } from './command.ts'
import { sourcesOf } from './config.ts'
import { readWhole } from './local-files.ts'

export const PROVIDERS = ['github', 'slack', 'stripe', 'standard', 'generic'] as const
export type ProviderName = (typeof PROVIDERS)[number]

type Fields = Readonly<Record<string, unknown>>

/** Where a secret is. */
export interface SecretPlace {
  /** `env:NAME` or `file:PATH`, as the audit names it. */
  readonly id: string
  readonly env: string | undefined
  readonly file: string | undefined
  /** Until when it counts, as it was written. */
  readonly notAfter: string | undefined
}

export interface HookProvider {
  readonly name: ProviderName
  readonly isEnabled: boolean
  readonly secrets: readonly SecretPlace[]
  /** Everything else that is set for it. */
  readonly settings: Fields
}

export interface HookRule {
  readonly provider: string
  readonly event: string
  /** As the configuration spells it, such as `mailbox:deploys`. */
  readonly effect: string
  /** Where its messages are until they are taken. */
  readonly topic: string
}

export interface HookConfig {
  readonly providers: readonly HookProvider[]
  readonly rules: readonly HookRule[]
}

/** Reads the file and the environment as a start would. */
export async function readHookConfig({ given, terminal }: CommandContext): Promise<HookConfig> {
  const loaded = await loadConfig(configSchemas(SERVICES), sourcesOf({ terminal }, given.text('config')))
  if (loaded.tag === 'refused')
    throw new CairnError('Malformed', `The configuration is not valid:\n${renderProblems(loaded.problems)}`, {
      code: 'config',
    })
  const { providers, rules } = fieldsOf(loaded.values['interop'])
  const declared = fieldsOf(providers)
  return {
    providers: PROVIDERS.map((name) => providerOf(name, fieldsOf(declared[name]))),
    rules: listOf(rules).map((rule) => ruleOf(fieldsOf(rule))),
  }
}

function providerOf(name: ProviderName, settings: Fields): HookProvider {
  const secrets = listOf(settings['secrets']).map((secret): SecretPlace => {
    const { env, file, not_after: notAfter } = fieldsOf(secret)
    const place = { env: textOf(env), file: textOf(file), notAfter: textOf(notAfter) }
    return { ...place, id: place.env === undefined ? `file:${place.file ?? ''}` : `env:${place.env}` }
  })
  return { name, isEnabled: settings['enabled'] === true, secrets, settings }
}

function ruleOf({ provider, event, effect }: Fields): HookRule {
  const { tag, topic, name, url } = fieldsOf(effect)
  const target = textOf(topic) ?? textOf(name) ?? textOf(url) ?? ''
  return {
    provider: textOf(provider) ?? '',
    event: textOf(event) ?? '',
    effect: `${textOf(tag) ?? ''}:${target}`,
    topic: textOf(topic) ?? `@${textOf(tag) ?? ''}`,
  }
}

/** What becomes of an event. One that no rule is about goes to the topic of its provider. */
export function rulesFor({ rules }: HookConfig, provider: string, event: string): readonly HookRule[] {
  const own = rules.filter((rule) => rule.provider === provider && (rule.event === '*' || rule.event === event))
  const effects = new Map(own.map((rule) => [rule.effect, rule]))
  if (effects.size > 0) return [...effects.values()]
  return [{ provider, event: '*', effect: `mailbox:${provider}`, topic: provider }]
}

/** Whether the secret counts at this time. */
export function isActive({ notAfter }: SecretPlace, nowMs: number): boolean {
  return notAfter === undefined || nowMs < Date.parse(notAfter)
}

/** The secret itself, for signing a test; it is never shown. */
export async function readSecret(
  { id, env, file }: SecretPlace,
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<string> {
  const text =
    env === undefined
      ? new TextDecoder().decode(await readWhole(file ?? '')).replace(/\r?\n$/, '')
      : (terminal.environment[env] ?? '')
  if (text !== '') return text
  const detail = `The secret at ${id} is not to be had here. Set it for this command too, or run it where the node runs.`
  throw new CairnError('NotFound', detail, { code: 'no_secret' })
}

export function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {}
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : []
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
