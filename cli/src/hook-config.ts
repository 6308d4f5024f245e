/** What a node says about webhooks: who is let in, where secrets are, never what they are. */
import type { HookProvider, Hooks } from '@cairn/clients'
import { CairnError } from '@cairn/kernel'
import type { CommandContext } from './command.ts'
import { isThere, readWhole } from './local-files.ts'

export const PROVIDERS = ['github', 'slack', 'stripe', 'standard', 'generic'] as const
export type HookProviderName = (typeof PROVIDERS)[number]
export type SecretSource = HookProvider['secrets'][number]

export interface HookEffect {
  /** As the configuration spells it, such as `mailbox:deploys`. */
  readonly effect: string
  /** Where its messages are until they are taken. */
  readonly topic: string
}

/** What becomes of an event. One that no rule is about goes to the topic of its provider. */
export function effectsOf({ rules }: Hooks, provider: string, event: string): readonly HookEffect[] {
  const own = rules.filter((rule) => rule.provider === provider && (rule.event === '*' || rule.event === event))
  const effects = new Set(own.map(({ effect }) => effect))
  return (effects.size > 0 ? [...effects] : [`mailbox:${provider}`]).map((effect) => ({
    effect,
    topic: effect.startsWith('mailbox:') ? effect.slice('mailbox:'.length) : `@${effect.split(':')[0] ?? ''}`,
  }))
}

/** Whether the secret counts at this time. */
export function isActive({ notAfterMs }: SecretSource, nowMs: number): boolean {
  return notAfterMs === undefined || nowMs < notAfterMs
}

/** The secret itself, for signing a test; it is never shown. A node does not tell it, so it has to be here too. */
export async function readSecret(
  { id }: SecretSource,
  { terminal }: Pick<CommandContext, 'terminal'>,
): Promise<string> {
  const [, kind, place = ''] = /^(env|file):(.*)$/s.exec(id) ?? []
  const text = kind === 'file' ? await readLine(place) : (terminal.environment[place] ?? '')
  if (text !== '') return text
  const detail = `The secret at ${id} of the node is not to be had here. Set it for this command too, or run it where the node runs.`
  throw new CairnError('NotFound', detail, { code: 'no_secret' })
}

async function readLine(path: string): Promise<string> {
  if (!(await isThere(path))) return ''
  return new TextDecoder().decode(await readWhole(path)).replace(/\r?\n$/, '')
}

export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : {}
}

export function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
