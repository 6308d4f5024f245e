/** Behind a trusted proxy the client is who the proxy says, however many fields of the name the client sent itself. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fixture } from '../test/fixture.ts'

const HOST = ['Host', 'localhost']

describe('a rate for each address, behind a proxy', () => {
  for (const [name, fields] of [
    ['one field', (at: number) => ['X-Forwarded-For', `10.9.9.${at}, 203.0.113.5`]],
    [
      'a field of the client before that of the proxy',
      (at: number) => ['X-Forwarded-For', `10.9.9.${at}`, 'X-Forwarded-For', '203.0.113.5'],
    ],
    [
      'three fields',
      (at: number) => [
        'x-forwarded-for',
        `10.9.9.${at}`,
        'X-Forwarded-For',
        `10.8.8.${at}`,
        'X-FORWARDED-FOR',
        '203.0.113.5',
      ],
    ],
  ] as const) {
    test(`holds with ${name}`, async () => {
      const config = { trusted_proxies: ['127.0.0.0/8'], max_rps_per_address: 1, burst_per_address: 2 }
      const { call } = fixture({ config })
      const statuses: number[] = []
      for (let at = 0; at < 4; at += 1) statuses.push((await call({ headers: [...HOST, ...fields(at)] })).status)
      assert.deepEqual(statuses, [200, 200, 429, 429])
    })
  }
})
