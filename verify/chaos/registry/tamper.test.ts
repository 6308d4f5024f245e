import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { SeededRandom } from '@cairn/kernel'
import { loadRegistry } from './registry-module.ts'
import { makeSpecimen, type PlaceClass, tamper, tamperRunning } from './tamper.ts'
import { change, classOf, publish, verifyRemotely, walk } from './tamper-remote.ts'

const IS_LONG = process.env['CAIRN_LONG'] === '1'
const STORED = IS_LONG ? 400 : 48
const RUNNING = IS_LONG ? 60 : 6
const PUBLISHED = IS_LONG ? 300 : 45

/**
 * Where a changed bit may go unnoticed: nothing depends on padding, and HEAD is only a cache. The cosigner's key is not
 * held against the last checkpoint when the registry starts: a damaged one times later checkpoints under another key.
 */
const HARMLESS: readonly PlaceClass[] = ['padding', 'HEAD', 'cosigner key']

class Tally {
  readonly #counts = new Map<string, number>()

  add(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1)
  }

  toString(): string {
    const rows = [...this.#counts].sort(([a], [b]) => (a < b ? -1 : 1))
    return rows.map(([what, count]) => `${count} × ${what}`).join('\n')
  }
}

describe('whatever is changed in a registry is noticed', async () => {
  const registry = await loadRegistry()

  test(`${STORED} bits of what it stores, every class of place alike`, async (t) => {
    const specimen = await makeSpecimen(registry)
    const random = new SeededRandom(1)
    const classes = [...specimen.places.keys()]
    const tally = new Tally()
    for (let count = 0; count < STORED; count += 1) {
      const places = specimen.places.get(classes[count % classes.length] ?? 'entry') ?? []
      const place = places[Math.floor(random.next() * places.length)]
      assert.ok(place !== undefined)
      const detection = await tamper(registry, specimen, place, random)
      if (detection === 'harmless') assert.ok(HARMLESS.includes(place.class), `${place.class} is harmless`)
      if (place.class === 'entry' || place.class === 'artifact') assert.match(detection, /by entry/)
      tally.add(`${place.class}: ${detection}`)
    }
    t.diagnostic(String(tally))
  })

  test(`${RUNNING} bits under a registry that runs: the deep verifier names the entry`, async (t) => {
    const specimen = await makeSpecimen(registry)
    const random = new SeededRandom(3)
    const named: string[] = []
    for (let count = 0; count < RUNNING; count += 1) {
      const places = specimen.places.get(count % 2 === 0 ? 'entry' : 'artifact') ?? []
      const place = places[Math.floor(random.next() * places.length)]
      assert.ok(place !== undefined)
      const index = await tamperRunning(registry, specimen, place, random)
      if (place.class === 'entry') assert.equal(index, place.index)
      named.push(`${place.class} ${index}`)
    }
    t.diagnostic(named.join(', '))
  })

  test(`${PUBLISHED} changes of what it publishes, every file alike`, async (t) => {
    const publication = await publish(registry)
    const { files, trust, now } = publication
    assert.equal(await walk(files, trust, now), undefined, 'as it is, it holds')
    const random = new SeededRandom(2)
    const tally = new Tally()
    for (let count = 0; count < PUBLISHED; count += 1) {
      const path = [...files.keys()][count % files.size]
      assert.ok(path !== undefined)
      const detection = await verifyRemotely(publication, path, change(files.get(path) ?? new Uint8Array(), random))
      const kind = classOf(path)
      if (kind === 'tile 1' || kind === 'entries' || kind === 'tile 0') assert.equal(detection, 'by entry', path)
      tally.add(`${kind}: ${detection}`)
    }
    t.diagnostic(String(tally))
  })

  test('a tile that does not match its parent, and a full tile cut short', async () => {
    const publication = await publish(registry)
    const { files, trust, now } = publication
    const served = (path: string, bytes: Uint8Array) => walk(new Map([...files, [path, bytes]]), trust, now)
    const parent = new Uint8Array(files.get('/log/tile/1/000.p/1') ?? [])
    parent[0] = (parent[0] ?? 0) ^ 1
    assert.equal((await served('/log/tile/1/000.p/1', parent))?.index, 0)
    const full = new Uint8Array(files.get('/log/tile/0/000') ?? [])
    assert.equal(full.length, 256 * 32)
    assert.equal((await served('/log/tile/0/000', full.subarray(0, 255 * 32)))?.index, 0)
  })
})
