/** What operators write. */
import assert from 'node:assert/strict'
import { edgeSection } from '@cairn/edge/testing'
import { indexSection } from '@cairn/index/testing'
import { interopSection } from '@cairn/interop/testing'
import { virtualRuntime } from '@cairn/kernel/testing'
import { loadConfig, MemoryDisk } from '@cairn/platform'
import { registrySection } from '@cairn/registry'
import { storageSection } from '@cairn/storage/testing'
import type { FuzzTarget } from '../fuzzer.ts'
import { bytesOf, textOf } from '../inputs.ts'

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
    "[[storage.peers]]\nurl = 'https://a.example/'\nid = \"\\u0061\"\n[[storage.peers]]\nurl = '''b'''\n",
    'storage.ingress.max_rps = -1\nstorage.cache_bytes = 1.5\n[edge]\nmode = "dead"\nroutes = { up = { upstream = 1 } }\n',
    '\u0000CAIRN_STORAGE_CACHE_BYTES=64MiB\nCAIRN_EDGE_MODE=live\nCAIRN_NONE=1\n',
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
    'CAIRN_STORAGE_',
    '_FILE=',
  ],
  bytesMax: 2000,
  run: async (input) => {
    const runtime = virtualRuntime()
    const disk = new MemoryDisk(runtime, 1 << 20)
    // The file, then what the environment says.
    const end = input.indexOf(0)
    const file = await disk.open('/cairn.toml', { mode: 'create' })
    await file.append([input.slice(0, end < 0 ? input.length : end)])
    await file.close()
    const environment = environmentOf(end < 0 ? '' : textOf(input.subarray(end + 1)))
    const sources = { file: { path: '/cairn.toml', required: true }, environment, flags: [], disk }
    const loaded = await loadConfig(SECTIONS, sources)
    // Whatever is refused is refused with where and why.
    if (loaded.tag === 'refused') assert.ok(loaded.problems.length > 0)
  },
}

function environmentOf(text: string): Record<string, string> {
  const lines = text.split('\n').filter((line) => line.includes('='))
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

export const TARGETS: readonly FuzzTarget[] = [configuration]
