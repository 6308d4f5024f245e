import assert from 'node:assert/strict'
import { test } from 'node:test'
import { tomlPositions } from './toml-positions.ts'

const TEXT = `top = 1
[storage.ingress] # limits
  max_rps   = 5
"quoted key" . inner = 'x'

[[edge.packs]]
name = "a"
[[edge.packs]]
name = """
long"""
box = { west = -1.5, list = [1,
  { deep = true }] }
`

test('keys and values have the line and column they are written at', () => {
  const places = tomlPositions(TEXT)
  const cases: [(string | number)[], string, string][] = [
    [['top'], '1:1', '1:7'],
    [['storage'], '2:2', '2:2'],
    [['storage', 'ingress'], '2:10', '2:10'],
    [['storage', 'ingress', 'max_rps'], '3:3', '3:15'],
    [['storage', 'ingress', 'quoted key', 'inner'], '4:16', '4:24'],
    [['edge', 'packs'], '6:8', '6:8'],
    [['edge', 'packs', 0, 'name'], '7:1', '7:8'],
    [['edge', 'packs', 1], '8:8', '8:8'],
    [['edge', 'packs', 1, 'name'], '9:1', '9:8'],
    [['edge', 'packs', 1, 'box', 'west'], '11:9', '11:16'],
    [['edge', 'packs', 1, 'box', 'list', 1, 'deep'], '12:5', '12:12'],
  ]
  for (const [path, key, value] of cases) {
    const place = places.at(path)
    assert.ok(place !== undefined, path.join('.'))
    assert.equal(`${place.key.line}:${place.key.column}`, key, path.join('.'))
    assert.equal(`${place.value.line}:${place.value.column}`, value, path.join('.'))
  }
})
