import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { disagreements, REASONS } from './dependencies.ts'
import { type Manifest, REPOSITORY, readManifests } from './repository.ts'

const EXACT = /^\d+\.\d+\.\d+(-[\w.]+)?$/

describe('dependencies', () => {
  test('all have a reason, and every reason a dependency', () => {
    assert.deepEqual(disagreements(readManifests(), REASONS), [])
  })

  test('without a reason are named', () => {
    const manifest: Manifest = { folder: 'cli', name: '@cairn/cli', dependencies: { 'left-pad': '1.3.0' } }
    assert.deepEqual(disagreements([manifest], new Map()), ['left-pad has no reason: say why it is here.'])
  })

  test('that are gone leave no reason behind', () => {
    const reasons = new Map([['left-pad', { licence: 'MIT', why: 'It pads.' }]])
    assert.deepEqual(disagreements([], reasons), ['left-pad has a reason but no package asks for it.'])
  })

  test('in two versions are refused', () => {
    const manifests = ['1.3.0', '1.2.0'].map((version) => ({ folder: '', name: '', dependencies: { a: version } }))
    assert.throws(() => disagreements(manifests, new Map()), /a is asked for as 1\.3\.0 and as 1\.2\.0/)
  })

  test('are pinned to one exact version', () => {
    for (const { name, dependencies, devDependencies, optionalDependencies } of readManifests()) {
      for (const [dependency, version] of Object.entries({
        ...dependencies,
        ...devDependencies,
        ...optionalDependencies,
      })) {
        if (!dependency.startsWith('@cairn/')) assert.match(version, EXACT, `${name} asks for ${dependency}`)
      }
    }
  })

  test('state the licence they are under', () => {
    for (const [name, { licence }] of REASONS) {
      const path = join(REPOSITORY, 'node_modules', name, 'package.json')
      if (!existsSync(path)) continue // a package for another platform
      assert.equal((JSON.parse(readFileSync(path, 'utf8')) as { license: string }).license, licence, name)
    }
  })

  test('are not needed by the kernel', () => {
    const kernel = readManifests().find(({ folder }) => folder === 'packages/kernel')
    assert.deepEqual(kernel?.dependencies ?? {}, {})
  })
})
