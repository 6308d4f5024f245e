import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CairnError, Health } from '@cairn/kernel'
import { serviceStatus } from './service-status.ts'

const running = { urls: ['http://127.0.0.1:4600'], health: new Health(['store_writable']) }

test('a service says where it listens, what it waits for, and its line', async () => {
  const status = await serviceStatus({ name: 'storage', running, summary: async () => '3 objects' })
  const { urls } = running
  assert.deepEqual(status, { name: 'storage', urls, ready: false, missing: ['store_writable'], summary: '3 objects' })
})

test('a drive that cannot be read costs the line alone, and the line says so', async () => {
  const summary = async (): Promise<string> => {
    throw new CairnError('Internal', 'The disk could not read or write.')
  }
  const status = await serviceStatus({ name: 'storage', running, summary })
  assert.deepEqual(status.missing, ['store_writable'])
  assert.equal(status.summary, 'The disk could not read or write.')
})
