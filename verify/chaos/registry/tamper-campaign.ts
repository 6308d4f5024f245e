/** So many changes, every class of place alike, and who noticed each; throws if one went unnoticed. */
import assert from 'node:assert/strict'
import { SeededRandom } from '@cairn/kernel/testing'
import type { RegistryModule } from './registry-module.ts'
import { type PlaceClass, type Specimen, tamper, tamperRunning } from './tamper.ts'
import { change, classOf, type Publication, verifyRemotely } from './tamper-remote.ts'

/**
 * Where a changed bit may go unnoticed: nothing depends on padding, HEAD is only a cache, and the base64 of a key has
 * a few bits that mean nothing; the key is then the same, which was compared.
 */
const HARMLESS: readonly PlaceClass[] = ['padding', 'HEAD', 'log key', 'cosigner key', 'verify place']
const BY_ENTRY: readonly PlaceClass[] = ['entry', 'artifact', 'checkpoint']

/** Bits of what a stopped registry has stored: the start or the deep verifier notices. */
export async function tamperStored(
  registry: RegistryModule,
  specimen: Specimen,
  count: number,
  seed: number,
): Promise<string> {
  const random = new SeededRandom(seed)
  const classes = [...specimen.places.keys()]
  const tally = new Tally()
  for (let at = 0; at < count; at += 1) {
    const places = specimen.places.get(classes[at % classes.length] ?? 'entry') ?? []
    const place = places[Math.floor(random.next() * places.length)]
    assert.ok(place !== undefined)
    const detection = await tamper(registry, specimen, place, random)
    if (detection === 'harmless') assert.ok(HARMLESS.includes(place.class), `${place.class} is harmless`)
    if (BY_ENTRY.includes(place.class)) assert.match(detection, /by entry/, place.class)
    tally.add(`${place.class}: ${detection}`)
  }
  return `${count} bits of what is stored: ${String(tally)}`
}

/** Bits under a registry that runs: the deep verifier names the entry. */
export async function tamperLive(
  registry: RegistryModule,
  specimen: Specimen,
  count: number,
  seed: number,
): Promise<string> {
  const random = new SeededRandom(seed)
  const tally = new Tally()
  for (let at = 0; at < count; at += 1) {
    const places = specimen.places.get(BY_ENTRY[at % BY_ENTRY.length] ?? 'entry') ?? []
    const place = places[Math.floor(random.next() * places.length)]
    assert.ok(place !== undefined)
    const index = await tamperRunning(registry, specimen, place, random)
    if (place.class !== 'artifact') assert.equal(index, place.index)
    tally.add(`${place.class}: deep verifier, by entry`)
  }
  return `${count} bits under a registry that runs: ${String(tally)}`
}

/** Bits and ends of what it publishes: whoever walks the log, or checks a proof, notices. */
export async function tamperPublished(publication: Publication, count: number, seed: number): Promise<string> {
  const { files } = publication
  const random = new SeededRandom(seed)
  const tally = new Tally()
  for (let at = 0; at < count; at += 1) {
    const path = [...files.keys()][at % files.size]
    assert.ok(path !== undefined)
    const detection = await verifyRemotely(publication, path, change(files.get(path) ?? new Uint8Array(), random))
    const kind = classOf(path)
    if (kind === 'tile 1' || kind === 'entries' || kind === 'tile 0') assert.equal(detection, 'by entry', path)
    tally.add(`${kind}: ${detection}`)
  }
  return `${count} changes of what is published: ${String(tally)}`
}

class Tally {
  readonly #counts = new Map<string, number>()

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
  }

  toString(): string {
    const rows = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
    return rows.map(([what, count]) => `${count} × ${what}`).join('; ')
  }
}
