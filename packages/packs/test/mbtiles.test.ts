import assert from 'node:assert/strict'
import { copyFile, open, readdir, rename, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { openPack } from '../src/index.ts'
import { onRealDisk, within } from './packs.ts'

const PLAIN = `CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
  CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);`
const DEDUPLICATED = `CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT);
  CREATE TABLE images (tile_id TEXT PRIMARY KEY, tile_data BLOB);
  CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);`
const METADATA = `CREATE TABLE metadata (name TEXT, value TEXT);
  INSERT INTO metadata VALUES ('name', 'made'), ('format', 'pbf'), ('minzoom', '0'), ('maxzoom', '2'),
    ('bounds', '-10,-20,30,40'), ('json', '{"vector_layers":[{"id":"water","fields":{}}]}');`
const TILE = gzipSync('a tile')

function make(path: string, sql: string, fill: (database: DatabaseSync) => void = () => {}): void {
  using database = new DatabaseSync(path)
  database.exec(sql)
  fill(database)
}

function fillPlain(database: DatabaseSync): void {
  // One step east and one south of the north-west corner: row 2 of 4, counted from the south.
  database.prepare('INSERT INTO tiles VALUES (2, 1, 2, ?)').run(TILE)
}

function fillDeduplicated(database: DatabaseSync): void {
  database.exec(`INSERT INTO map VALUES (2, 1, 2, 'a')`)
  database.prepare(`INSERT INTO images VALUES ('a', ?)`).run(TILE)
}

for (const [schema, sql, fill] of [
  ['plain', PLAIN, fillPlain],
  ['deduplicated behind a view', DEDUPLICATED, fillDeduplicated],
] as const) {
  test(`tiles of a ${schema} schema, rows counted from the north`, async () => {
    await onRealDisk(async (machine, directory) => {
      const path = join(directory, 'made.mbtiles')
      make(path, `${sql}${METADATA}`, fill)
      const options = within(machine.runtime)
      await using pack = await openPack(machine, path, options)
      const tile = await pack.tile(2, 1, 1, options)
      assert.deepEqual(Buffer.from(tile?.bytes ?? []), TILE)
      assert.equal(tile?.coding, 'gzip')
      assert.equal(await pack.tile(2, 1, 2, options), undefined)
      assert.deepEqual(await pack.verify(options, () => {}), { tiles: 1 })
      assert.deepEqual(pack.facts.bounds, [-10, -20, 30, 40])
      assert.deepEqual((await pack.metadata(options))['vector_layers'], [{ id: 'water', fields: {} }])
      assert.deepEqual(await readdir(directory), ['made.mbtiles'], 'nothing is written beside it')
    })
  })
}

test('zooms that nobody wrote down are looked up', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'made.mbtiles')
    make(
      path,
      `${PLAIN} CREATE TABLE metadata (name TEXT, value TEXT); INSERT INTO metadata VALUES ('format', 'png');`,
      fillPlain,
    )
    await using pack = await openPack(machine, path, within(machine.runtime))
    assert.deepEqual([pack.facts.minZoom, pack.facts.maxZoom, pack.facts.tileType], [2, 2, 'png'])
  })
})

const bare = (format?: string): string =>
  `${PLAIN} CREATE TABLE metadata (name TEXT, value TEXT);${
    format === undefined ? '' : ` INSERT INTO metadata VALUES ('format', '${format}');`
  }`
const WEBP = Buffer.from('RIFF\u0004\0\0\0WEBPVP8 ', 'latin1')
const AVIF = Buffer.from('\0\0\0\u001cftypavif\0\0\0\0', 'latin1')

for (const [type, sql, tile] of [
  ['png', bare(), Buffer.from('89504e470d0a1a0a0000000d', 'hex')],
  ['jpeg', bare(), Buffer.from('ffd8ffe000104a464946', 'hex')],
  ['webp', bare(), WEBP],
  ['avif', bare(), AVIF],
  ['mvt', bare(), TILE],
  ['mvt', bare(), Buffer.from('1a0a0a057761746572', 'hex')],
  ['json', bare(), Buffer.from('{"type":"FeatureCollection"}')],
  ['unknown', bare(), Buffer.from('?')],
  ['png', bare('no such type'), Buffer.from('89504e470d0a1a0a0000000d', 'hex')],
  ['mvt', bare('PBF'), Buffer.from('89504e470d0a1a0a0000000d', 'hex')],
  ['mlt', bare('application/vnd.maplibre-vector-tile'), Buffer.from('?')],
  ['json', bare('json'), Buffer.from('?')],
] as const)
  test(`the type of tiles is ${type}: ${sql.includes('format') ? sql.slice(-40, -3) : 'as they look'}, ${tile.subarray(0, 6).toString('hex')}`, async () => {
    await onRealDisk(async (machine, directory) => {
      const path = join(directory, 'made.mbtiles')
      make(path, sql, (database) => {
        database.prepare('INSERT INTO tiles VALUES (2, 1, 2, ?)').run(tile)
      })
      await using pack = await openPack(machine, path, within(machine.runtime))
      assert.equal(pack.facts.tileType, type)
    })
  })

/** Seven tiles and their sum: MD5 of `000`, the bytes of the first, `100`, those of the second, and so on. */
const SUMMED = `${PLAIN}${METADATA}
  INSERT INTO metadata VALUES ('agg_tiles_hash', '85176E44A007CF12766B321BBB0F7A8D');
  WITH place(z, x, y) AS (VALUES (6, 45, 37), (0, 0, 0), (1, 0, 0), (2, 3, 1), (3, 7, 3), (4, 7, 8), (5, 16, 20))
  INSERT INTO tiles SELECT z, x, y, x'1f8b080000000000000303000000000000000000' FROM place;`
const HASHED = `CREATE TABLE tiles_with_hash (zoom_level, tile_column, tile_row, tile_data, tile_hash);
  CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles_with_hash;${METADATA}
  INSERT INTO tiles_with_hash VALUES (2, 1, 2, x'6162', '187EF4436122D1CC2F40DC2B92F0EBA0'), (2, 1, 3, NULL, NULL);`
/** A tile and both sums of it as martin writes and checks them. */
const MARTINS = `CREATE TABLE tiles_with_hash (zoom_level, tile_column, tile_row, tile_data, tile_hash);
  CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM tiles_with_hash;${METADATA}
  INSERT INTO metadata VALUES ('agg_tiles_hash', 'AC15E26A1FCF82FDB6D0E8F43EE37821');
  INSERT INTO tiles_with_hash VALUES
    (6, 38, 44, x'1f8b080000000000000303000000000000000000', '7029066C27AC6F5EF18D660D5741979A');`

for (const [name, sql, detail] of [
  ['tiles that are those of their sum', SUMMED, undefined],
  ['a sum of other tiles', `${SUMMED} DELETE FROM tiles WHERE zoom_level = 6;`, /agg_tiles_hash is 85176E44/],
  ['a row beyond its zoom', `${PLAIN}${METADATA} INSERT INTO tiles VALUES (6, 1, 64, x'00');`, /tile_row 64 cannot be/],
  ['a zoom below 0', `${PLAIN}${METADATA} INSERT INTO tiles VALUES (-1, 0, 0, x'00');`, /zoom_level -1/],
  ['tiles that are those of their own sums', HASHED, undefined],
  ['both sums, made by another program', MARTINS, undefined],
  [
    'a sum by an algorithm that is not MD5',
    `${SUMMED} DELETE FROM tiles WHERE zoom_level = 6;
    INSERT INTO metadata VALUES ('hash_algorithm', 'fnv1a');`,
    undefined,
  ],
  [
    'a tile of another sum',
    `${HASHED} UPDATE tiles_with_hash SET tile_data = x'00';`,
    /tile_column 1, tile_row 2 is not/,
  ],
] as const)
  test(`contents: ${name} ${detail === undefined ? 'pass' : 'are refused, though the structure is sound'}`, async () => {
    await onRealDisk(async (machine, directory) => {
      const path = join(directory, 'made.mbtiles')
      make(path, sql)
      const options = within(machine.runtime)
      await using pack = await openPack(machine, path, options)
      await pack.verify(options, () => {})
      const verified = pack.verify(options, () => {}, 'contents')
      if (detail === undefined) await verified
      else await assert.rejects(verified, { code: 'pack_corrupt', message: detail })
    })
  })

const HOSTILE: readonly (readonly [string, string, ((database: DatabaseSync) => void) | undefined, RegExp])[] = [
  ['no table of tiles', METADATA, undefined, /no such table: tiles/],
  ['no metadata', PLAIN, fillPlain, /no such table: metadata/],
  [
    'zooms that cannot be',
    `${PLAIN}${METADATA} UPDATE metadata SET value = '99' WHERE name = 'maxzoom';`,
    fillPlain,
    /zooms/,
  ],
  [
    'layers that are no JSON',
    `${PLAIN}${METADATA} UPDATE metadata SET value = '{' WHERE name = 'json';`,
    fillPlain,
    /JSON/,
  ],
  [
    'a tile that is a text',
    `${PLAIN}${METADATA} INSERT INTO tiles VALUES (2, 1, 2, 'text');`,
    undefined,
    /not stored as bytes/,
  ],
  [
    'a tile of 17 MiB',
    `${PLAIN}${METADATA} INSERT INTO tiles VALUES (2, 1, 2, zeroblob(17 << 20));`,
    undefined,
    /bytes/,
  ],
]

for (const [name, sql, fill, detail] of HOSTILE) {
  test(`refused: ${name}`, async () => {
    await onRealDisk(async (machine, directory) => {
      const path = join(directory, 'made.mbtiles')
      make(path, sql, fill)
      const options = within(machine.runtime)
      await assert.rejects(
        async () => {
          await using pack = await openPack(machine, path, options)
          await pack.tile(2, 1, 1, options)
        },
        { code: 'pack_corrupt', message: detail },
      )
    })
  })
}

test('triggers and functions of the schema do not run', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'made.mbtiles')
    const view = `CREATE TABLE t (zoom_level, tile_column, tile_row, tile_data);
      CREATE TRIGGER ran AFTER INSERT ON t BEGIN DELETE FROM t; END;
      CREATE VIEW tiles AS SELECT 2 AS zoom_level, 1 AS tile_column, 2 AS tile_row, readfile('/etc/passwd') AS tile_data;`
    make(path, `${view}${METADATA}`)
    const options = within(machine.runtime)
    await using pack = await openPack(machine, path, options)
    await assert.rejects(pack.tile(2, 1, 1, options), { code: 'pack_corrupt', message: /readfile/ })
  })
})

test('a view that never ends loses its thread at the deadline, and the next question is answered', async () => {
  await onRealDisk(async (machine, directory) => {
    const endless = join(directory, 'endless.mbtiles')
    const view = `CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
      SELECT 2 AS zoom_level, 1 AS tile_column, i AS tile_row, NULL AS tile_data FROM n WHERE random() = 1;`
    make(endless, `${view}${METADATA}`)
    await using pack = await openPack(machine, endless, within(machine.runtime))
    await assert.rejects(pack.tile(2, 1, 1, within(machine.runtime, 200)), { kind: 'Timeout' })
    const sound = join(directory, 'sound.mbtiles')
    make(sound, `${PLAIN}${METADATA}`, fillPlain)
    await using other = await openPack(machine, sound, within(machine.runtime))
    assert.notEqual(await other.tile(2, 1, 1, within(machine.runtime)), undefined)
  })
})

test('a file that somebody holds locked is busy, not broken', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'made.mbtiles')
    make(path, `${PLAIN}${METADATA}`, fillPlain)
    await using pack = await openPack(machine, path, within(machine.runtime))
    using holder = new DatabaseSync(path)
    holder.exec('BEGIN EXCLUSIVE')
    await assert.rejects(pack.tile(2, 1, 1, within(machine.runtime)), { kind: 'StorageBusy' })
    holder.exec('ROLLBACK')
    assert.notEqual(await pack.tile(2, 1, 1, within(machine.runtime)), undefined)
  })
})

test('a database with a write-ahead log is refused with what to do', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'made.mbtiles')
    make(path, `PRAGMA journal_mode = WAL; ${PLAIN}${METADATA}`, fillPlain)
    await assert.rejects(openPack(machine, path, within(machine.runtime)), {
      code: 'pack_corrupt',
      message: /journal_mode/,
    })
  })
})

test('a damaged database is refused or read, in time, and never anything else', async (t) => {
  await onRealDisk(async (machine, directory) => {
    const sound = join(directory, 'sound.mbtiles')
    make(sound, `${PLAIN}${METADATA}`, (database) => {
      const insert = database.prepare('INSERT INTO tiles VALUES (2, ?, ?, ?)')
      for (let at = 0; at < 16; at += 1) insert.run(at % 4, Math.floor(at / 4), new Uint8Array(3000).fill(at))
    })
    const counts = { read: 0, refused: 0 }
    for (let seed = 0; seed < 24; seed += 1) {
      const path = join(directory, 'damaged.mbtiles')
      await copyFile(sound, path)
      if (seed % 4 === 0) await truncate(path, 1000 + seed * 1500)
      else await overwrite(path, seed * 977)
      const options = within(machine.runtime, 30_000)
      try {
        await using pack = await openPack(machine, path, options)
        await pack.tile(2, seed % 4, 1, options)
        await pack.verify(options, () => {})
        counts.read += 1
      } catch (error) {
        assert.equal((error as { code?: string }).code, 'pack_corrupt', String(error))
        counts.refused += 1
      }
    }
    t.diagnostic(`${counts.refused} refused, ${counts.read} read`)
    assert.ok(counts.refused > 5)
  })
})

async function overwrite(path: string, at: number): Promise<void> {
  await using file = await open(path, 'r+')
  await file.write(Buffer.alloc(64, 0xa5), 0, 64, at)
}

test('what is neither of both, and what is not there', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'text')
    await writeFile(path, 'a text')
    await assert.rejects(openPack(machine, path, within(machine.runtime)), { code: 'pack_corrupt' })
    await assert.rejects(openPack(machine, `${path}.no`, within(machine.runtime)), { kind: 'NotFound' })
  })
})

test('after another file took its name, a pack answers nothing rather than tiles of the other', async () => {
  await onRealDisk(async (machine, directory) => {
    const path = join(directory, 'made.mbtiles')
    make(path, `${PLAIN}${METADATA}`, fillPlain)
    const options = within(machine.runtime)
    await using pack = await openPack(machine, path, options)
    const other = join(directory, 'other.mbtiles')
    make(other, `${PLAIN}${METADATA}`, (database) => {
      database.prepare('INSERT INTO tiles VALUES (2, 1, 2, ?)').run(gzipSync('another'))
    })
    await rename(other, path)
    await assert.rejects(pack.tile(2, 1, 1, options), { kind: 'StorageBusy' })
    await using again = await openPack(machine, path, options)
    assert.deepEqual(Buffer.from((await again.tile(2, 1, 1, options))?.bytes ?? []), gzipSync('another'))
  })
})
