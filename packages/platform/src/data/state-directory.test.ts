import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stateDirectory } from './data-directory.ts'

test('the state directory is what the environment says, and none where it says nothing', () => {
  const all = { CAIRN_STATE: '/s', XDG_STATE_HOME: '/x', HOME: '/h' }
  assert.equal(stateDirectory(all), '/s')
  assert.equal(stateDirectory({ ...all, CAIRN_STATE: '' }), '/x/cairn')
  assert.equal(stateDirectory({ XDG_STATE_HOME: 'relative', HOME: '/h' }), '/h/.local/state/cairn')
  assert.equal(stateDirectory({}), undefined)
})
