/** One suite, two places to run: Node, and a browser without a window. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { findChromium, openChromium } from './chromium.ts'
import { CASES } from './sdk-suite.ts'
import { SdkWorld } from './sdk-world.ts'

const program = findChromium()
const SKIP = { skip: program === undefined ? 'there is no Chromium here; verify/browser/install installs it' : false }
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
