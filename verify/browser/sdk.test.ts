/** One suite, two places to run: Node, and a browser without a window. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { findChromium, openChromium } from './chromium.ts'
import { CASES } from './sdk-suite.ts'
import { SdkWorld } from './sdk-world.ts'

const program = findChromium()
const SKIP = { skip: program === undefined ? 'tool absent: Chromium; verify/browser/install installs it' : false }
const SUITE = '/modules/verify/browser/sdk-suite.ts'

let world: SdkWorld
before(async () => {
  world = await SdkWorld.open()
})
after(async () => await world[Symbol.asyncDispose]())

describe('in Node', () => {
  for (const { title, run } of CASES) test(title, async () => await run(world.world))
})

describe('in Chromium', SKIP, () => {
  let browser: Browser
  let page: Page
  before(async () => {
    browser = await openChromium(program ?? '')
    page = await browser.newPage()
    await page.goto(world.world.origin)
  })
  after(async () => await browser.close())

  for (const [index, { title }] of CASES.entries()) {
    test(title, async () => {
      const told = JSON.stringify(world.world)
      const script = `import(${JSON.stringify(SUITE)}).then(async ({ CASES }) => await CASES[${index}].run(${told}))`
      await assert.doesNotReject(page.evaluate(script))
    })
  }
})

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** Whether the description of the service has the operation. */
function isDescribed(request: string): boolean {
  const [service = '', method = '', path = ''] = request.split(' ')
  const file = new URL(`../../docs/generated/openapi-${service}.json`, import.meta.url)
  const { paths } = JSON.parse(readFileSync(file, 'utf8')) as OpenApi
  return Object.entries(paths).some(([template, operations]) => {
    const pattern = template.replaceAll(/[.*+?^$()|[\]\\]/g, '\\$&').replaceAll(/\{[^}]+\}/g, '[^/]+')
    return method.toLowerCase() in operations && new RegExp(`^${pattern}$`).test(path)
  })
}

test('whatever the library asks is in the OpenAPI of the service', () => {
  const requests = [...world.requests]
  assert.ok(requests.length > 8, requests.join('\n'))
  assert.deepEqual(
    requests.filter((request) => !isDescribed(request)),
    [],
  )
})
