/** Search and graph: absent unless switched on, with a capability and a pool of their own. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addressOf } from '@cairn/wire'
import { isProblem } from '../../../verify/virtual/answer.ts'
import { resolvesTo, TestNames } from './dependencies.ts'
import { TestService } from './harness.ts'

const ON = { facets: { search: true, graph: true } }

function manyNames(count: number): TestNames {
  const names = new TestNames()
  for (let at = 0; at < count; at += 1) names.commit(`site@${at}`, resolvesTo(addressOf(Buffer.from(String(at)))))
  return names
}

test('off: there is no such route', async () => {
  const service = await TestService.start({ names: manyNames(1) })
  isProblem(await service.ask('GET', '/search/site'), 404, 'not_found')
  isProblem(await service.ask('GET', '/graph/name:site@0'), 404, 'not_found')
  await service.stop()
})

test('on: pages of names, in the same order every time, until there are no more', async () => {
  const service = await TestService.start({ names: manyNames(25), config: ON })
  const seen: string[] = []
  for (let offset: number | undefined = 0; offset !== undefined; ) {
    const page = (await service.ask('GET', `/search/site?offset=${offset}`)).json() as {
      results: { key: string }[]
      next_offset?: number
      has_more: boolean
      total_estimate: number
    }
    assert.equal(page.total_estimate, 25)
    assert.equal(page.has_more, page.next_offset !== undefined)
    seen.push(...page.results.map(({ key }) => key))
    offset = page.next_offset
  }
  assert.equal(new Set(seen).size, 25)
  isProblem(await service.ask('GET', '/search/site', { token: null }), 401, 'token_missing')
  isProblem(await service.ask('GET', `/search/${'a'.repeat(129)}`), 400, 'bad_request')
  isProblem(await service.ask('GET', '/search/site?limit=51'), 400, 'bad_request')
  await service.stop()
})

test('a name that was committed since is found; a graph says when there is more than it shows', async () => {
  const names = manyNames(5)
  const service = await TestService.start({ names, config: ON })
  assert.equal((await service.ask('GET', '/search/fresh')).fields()['total_estimate'], 0)
  names.commit('fresh@1', resolvesTo(addressOf(Buffer.from('fresh'))))
  assert.equal((await service.ask('GET', '/search/fresh')).fields()['total_estimate'], 1)
  const graph = (await service.ask('GET', '/graph/name:site@0?hops=2&max_neighbors=3')).json() as {
    neighbors: unknown[]
    truncated: boolean
  }
  assert.deepEqual([graph.neighbors.length, graph.truncated], [3, true])
  await service.stop()
})
