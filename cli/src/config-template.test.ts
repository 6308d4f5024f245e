import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { MemoryLog, MemoryMetrics, systemRuntime } from '@cairn/kernel'
import { configSchemas, SERVICES } from '@cairn/node'
import { declaredKeys, loadConfig, RealDisk, renderProblems } from '@cairn/platform'
import { configTemplate } from './config.ts'

const SCHEMAS = configSchemas(SERVICES)

async function originsOf(text: string): Promise<Record<string, string>> {
  const directory = await mkdtemp(join(tmpdir(), 'cairn-'))
  try {
    const path = join(directory, 'cairn.toml')
    await writeFile(path, text)
    const disk = new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics()))
    const loaded = await loadConfig(SCHEMAS, { file: { path, required: true }, environment: {}, flags: [], disk })
    assert.equal(loaded.tag, 'loaded', loaded.tag === 'refused' ? renderProblems(loaded.problems) : '')
    return loaded.origins
  } finally {
    await rm(directory, { recursive: true })
  }
}

test('as it is written, the file changes nothing', async () => {
  const origins = await originsOf(configTemplate(SCHEMAS))
  assert.deepEqual(new Set(Object.values(origins)), new Set(['default']))
})

test('with every default uncommented the file is valid and sets each of those keys', async () => {
  const uncommented = configTemplate(SCHEMAS).replaceAll(/^# (\w+ = .+)$/gm, '$1')
  const origins = await originsOf(uncommented)
  for (const { key, default: byDefault } of declaredKeys(SCHEMAS))
    assert.equal(origins[key] === 'default', byDefault === undefined, key)
})

test('every key is there with what it does and what a change needs', () => {
  const template = configTemplate(SCHEMAS)
  for (const { path, does, reload } of declaredKeys(SCHEMAS)) {
    assert.ok(template.includes(`# ${does} (${reload})\n# ${path.at(-1)} =`), path.join('.'))
  }
})
