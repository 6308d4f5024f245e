import type { FuzzTarget } from './fuzzer.ts'

/** Every parser that meets the outside, and where its target is: loading them all would slow each of them down. */
const FILES: Readonly<Record<string, readonly string[]>> = {
  wire: ['address', 'manifest', 'tree', 'cbor', 'json'],
  tokens: ['token'],
  http: ['range', 'conditions', 'framing', 'server-events', 'event-frames', 'chunk-frames', 'inflate'],
  log: ['signed-note', 'tiles'],
  names: ['proofs', 'registry-requests'],
  routing: ['provider-record'],
  webhooks: ['webhook'],
  configuration: ['configuration'],
  packs: ['pmtiles', 'mbtiles'],
  services: ['requests'],
}

export const TARGET_NAMES: readonly string[] = Object.values(FILES).flat()

/** The targets of these names. */
export async function loadTargets(names: readonly string[]): Promise<FuzzTarget[]> {
  const targets: FuzzTarget[] = []
  for (const [file, held] of Object.entries(FILES)) {
    if (!held.some((name) => names.includes(name))) continue
    const module = (await import(`./targets/${file}.ts`)) as { readonly TARGETS: readonly FuzzTarget[] }
    targets.push(...module.TARGETS.filter(({ name }) => names.includes(name)))
  }
  return targets
}
