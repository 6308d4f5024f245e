/**
 * Replay spaces: deliveries of one space are told apart by what their signature covers, at every provider of it.
 *
 *     secret A ─ github ─ space {github}
 *     github gets B, then loses A ──▶ the same space        rotating a secret makes nothing new
 *     generic gets A ───────────────▶ the same space        nor does renaming what takes it
 *
 * A space that came from two goes by both names: a key is kept under the first and looked for under each. The name of a
 * new space is that of its provider, which is what keys of format 0.1 go by.
 */
export interface ReplaySpace {
  readonly names: readonly string[]
  readonly providers: readonly string[]
  /** Fingerprints, from which no secret can be guessed without the node's identity. */
  readonly secrets: readonly string[]
}

export interface SpaceMember {
  readonly provider: string
  readonly secrets: readonly string[]
}

/** The spaces once these providers are in them; the same ones if nothing changes. */
export function joinSpaces(spaces: readonly ReplaySpace[], members: readonly SpaceMember[]): readonly ReplaySpace[] {
  let joined = spaces
  for (const member of members) joined = join(joined, member)
  return joined
}

/** What keys of this provider may begin with, the first for new ones. */
export function spaceNames(spaces: readonly ReplaySpace[], provider: string): readonly string[] {
  return spaces.find(({ providers }) => providers.includes(provider))?.names ?? [provider]
}

function join(spaces: readonly ReplaySpace[], { provider, secrets }: SpaceMember): readonly ReplaySpace[] {
  const isOurs = (space: ReplaySpace): boolean =>
    space.providers.includes(provider) || space.secrets.some((secret) => secrets.includes(secret))
  const ours = spaces.filter(isOurs)
  const [only] = ours
  const isSettled = only?.providers.includes(provider) === true && secrets.every((each) => only.secrets.includes(each))
  if (ours.length === 1 && isSettled) return spaces
  const names = ours.length === 0 ? [provider] : ours.flatMap((space) => space.names)
  const space: ReplaySpace = {
    names,
    providers: unique([...ours.flatMap((each) => each.providers), provider]),
    secrets: unique([...ours.flatMap((each) => each.secrets), ...secrets]),
  }
  return [...spaces.filter((each) => !isOurs(each)), space]
}

function unique(values: readonly string[]): string[] {
  return [...new Set(values)]
}
