/** What operators write. */
import assert from 'node:assert/strict'
import { edgeSection } from '@cairn/edge'
import { indexSection } from '@cairn/index'
import { interopSection } from '@cairn/interop'
import { virtualRuntime } from '@cairn/kernel'
import { loadConfig, MemoryDisk } from '@cairn/platform'
import { registrySection } from '@cairn/registry'
import { storageSection } from '@cairn/storage'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf } from '../inputs.ts'

const SECTIONS = {
  storage: storageSection,
  index: indexSection,
  registry: registrySection,
  edge: edgeSection,
  interop: interopSection,
}

const configuration: FuzzTarget = {
  name: 'configuration',
  covers: ['packages/platform/src/config/', 'node_modules/smol-toml/'],
  seeds: [
    '[storage]\ncache_bytes = "64MiB"\n[storage.ingress]\nmax_rps = 5\n',
    '[interop.providers.github]\nenabled = true\nsecrets = [{ file = "s" }]\n',
    '[registry.bootstrap]\norigin = """a\nb"""\n',
  ].map(bytesOf),
  words: [
    '[storage]',
    '= ',
    '"""',
    "'''",
    '{',
    '}',
    '[[',
    ']]',
    '\\u0000',
    '1979-05-27T07:32:00Z',
    'inf',
    '0x',
    '.',
    '#',
  ],
  bytesMax: 2000,
  run: async (input) => {
    const runtime = virtualRuntime()
    const disk = new MemoryDisk(runtime, 1 << 20)
    const file = await disk.open('/cairn.toml', { mode: 'create' })
    await file.append([input])
    await file.close()
    const sources = { file: { path: '/cairn.toml', required: true }, environment: {}, flags: [], disk }
    const loaded = await loadConfig(SECTIONS, sources)
    // Whatever is refused is refused with where and why.
    if (loaded.tag === 'refused') assert.ok(loaded.problems.length > 0)
  },
}

export const TARGETS: readonly FuzzTarget[] = [configuration]
