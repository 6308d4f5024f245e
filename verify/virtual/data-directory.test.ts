import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDataDirectory } from '@cairn/platform'
import { checkPowerCuts, checkPowerCutsAfterKills } from './data-directory-check.ts'

describe('the first start of a data directory', () => {
  test('is completed by the next one, whatever a power cut left', async (t) => {
    const { images, calls } = await checkPowerCuts(openDataDirectory)
    t.diagnostic(`${images} images, ${calls} calls`)
    assert.ok(images > 0 && calls > 0)
  })

  test('is completed by the next one after a kill, and survives a power cut then', async (t) => {
    const images = await checkPowerCutsAfterKills(openDataDirectory)
    t.diagnostic(`${images} images`)
    assert.ok(images > 0)
  })
})
