/** What people see: a map drawn from our tiles, a website on its own origin, and uploads that stay quiet. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { extname } from 'node:path'
import { after, before, test } from 'node:test'
import type { Browser, Page } from 'playwright-core'
import { archiveOf } from '../../packages/packs/test/archive.ts'
import { EdgeNode, eventually } from '../chaos/edge/edge-node.ts'
import { findChromium, openChromium } from './chromium.ts'
import { type Colour, colourTile } from './colour-tile.ts'

const MAPLIBRE = new URL('.', import.meta.resolve('maplibre-gl'))
const SCREENSHOT = new URL('../../docs/images/map.png', import.meta.url)
const SIDE = 512

/** The four tiles of zoom 1 in the order of PMTiles ids, and the middle of each on a map of 512 pixels. */
const QUARTERS: readonly { readonly colour: Colour; readonly x: number; readonly y: number }[] = [
  { colour: [214, 40, 40], x: 128, y: 128 },
  { colour: [0, 119, 182], x: 128, y: 384 },
  { colour: [247, 183, 49], x: 384, y: 384 },
  { colour: [46, 139, 87], x: 384, y: 128 },
]

/** Their tile types: unknown, and PNG. */
const EVIL_PACKS = { nothing: 0, pictures: 2 } as const

const PAGES_AT_ONCE = 4

const program = findChromium()
const SKIP = { skip: program === undefined ? 'tool absent: Chromium; verify/browser/install installs it' : false }

let node: EdgeNode
let browser: Browser
/** Hears from every script that runs; and is the upstream that such scripts come from. */
let beacon: Server
const UPSTREAM = '/evil/'
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.svg': 'image/svg+xml',
  '.xhtml': 'application/xhtml+xml',
}
const heard: string[] = []

before(async () => {
  if (program === undefined) return
  beacon = createServer((request, response) => {
    const file = Object.entries(uploads()).find(([name]) => request.url === `${UPSTREAM}${name}`)
    if (file === undefined) {
      heard.push(request.url ?? '')
      response.writeHead(204, { 'Access-Control-Allow-Origin': '*' }).end()
      return
    }
    const type = MEDIA_TYPES[extname(file[0])] ?? ''
    response.writeHead(200, { 'Content-Type': type, 'Cache-Control': 'max-age=60' }).end(file[1])
  })
  await new Promise<void>((resolve) => {
    beacon.listen(0, '127.0.0.1', resolve)
  })
  ;[node, browser] = await Promise.all([startNode(), openChromium(program)])
})

after(async () => {
  if (program === undefined) return
  await browser.close()
  await node[Symbol.asyncDispose]()
  beacon.closeAllConnections()
  beacon.close()
})

async function startNode(): Promise<EdgeNode> {
  const { port } = beacon.address() as AddressInfo
  const live = `mode = "live"\nallow = ["127.0.0.1:${port}"]\ndev_allow_loopback_http = true\n`
  const routes = `[edge.routes]\nevil = "http://127.0.0.1:${port}${UPSTREAM}"\n`
  const sites = `[edge]\n${live}${routes}[edge.sites]\nmap = "map@1"\nupload = "upload@1"\n`
  const started = await EdgeNode.launch(sites)
  // The map's page is of another origin than its tiles, and both have the port it was given.
  const origin = `http://map.localhost:${started.url('edge').port}`
  await started.reconfigure(`${sites}[edge.ingress.cors]\nallow_origins = ["${origin}"]\n`)
  const tiles = new Map(QUARTERS.map(({ colour }, at) => [at + 1, colourTile(colour)]))
  await started.files('.', { 'world.pmtiles': archiveOf(tiles, { minZoom: 1, maxZoom: 1, tileType: 2 }) })
  await started.told('pack', 'add', 'world', started.path('world.pmtiles'))
  await addEvilPacks(started)
  await publish(started, 'map@1', await mapSite(started))
  await publish(started, 'upload@1', uploads())
  return started
}

/** Packs whose tiles are pages and whose metadata is one, as what they are not and as nothing known. */
async function addEvilPacks(to: EdgeNode): Promise<void> {
  for (const [name, tileType] of Object.entries(EVIL_PACKS)) {
    const pages = Object.values(uploads()).slice(0, 2)
    const tiles = new Map(pages.map((page, id) => [id, Buffer.from(page)]))
    const metadata = Buffer.from(JSON.stringify({ name: pages[0], attribution: pages[0] }))
    const bytes = archiveOf(tiles, { minZoom: 0, maxZoom: 1, tileType, metadata })
    await to.files('.', { [`${name}.pmtiles`]: bytes })
    await to.told('pack', 'add', name, to.path(`${name}.pmtiles`))
  }
}

async function publish(
  to: EdgeNode,
  name: string,
  files: Readonly<Record<string, string | Uint8Array>>,
): Promise<void> {
  await to.name(name, await to.told('put', '-q', await to.files(name, files)))
  await eventually(
    async () => await to.get(`/edge/assets/n/${name}/`),
    ({ status }) => status === 200,
  )
}

async function mapSite(of: EdgeNode): Promise<Record<string, string | Uint8Array>> {
  const names = ['maplibre-gl.mjs', 'maplibre-gl-worker.mjs', 'maplibre-gl-shared.mjs', 'maplibre-gl.css']
  const library = await Promise.all(names.map(async (name) => [name, await readFile(new URL(name, MAPLIBRE))] as const))
  const tileJson = of.url('edge', '/edge/assets/p/world/tiles.json').href
  const page = `<!doctype html><meta charset="utf-8"><title>Map</title>
<link rel="stylesheet" href="maplibre-gl.css">
<style>body { margin: 0 } #map { width: ${SIDE}px; height: ${SIDE}px }</style><div id="map"></div>
<script type="module" src="map.js"></script>`
  const script = `import * as maplibre from './maplibre-gl.mjs'
const sources = { world: { type: 'raster', url: ${JSON.stringify(tileJson)}, tileSize: 256 } }
const layers = [{ id: 'world', type: 'raster', source: 'world', paint: { 'raster-fade-duration': 0 } }]
const map = new maplibre.Map({ container: 'map', center: [0, 0], zoom: 0, renderWorldCopies: false,
  attributionControl: false, fadeDuration: 0, style: { version: 8, sources, layers } })
map.on('error', ({ error }) => { document.title = 'error: ' + error.message })
map.on('idle', () => { document.title = 'drawn' })`
  return { 'index.html': page, 'map.js': script, ...Object.fromEntries(library) }
}

function uploads(): Record<string, string> {
  const { port } = beacon.address() as AddressInfo
  const script = (who: string): string => `document.documentElement.dataset.ran = 'yes';
    fetch('http://127.0.0.1:${port}/${who}?from=' + encodeURIComponent(self.origin), { mode: 'no-cors' })`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${script('svg').replaceAll('"', '&quot;')}"/>`
  return {
    'index.html': `<!doctype html><title>Upload</title><script>${script('html')}</script>`,
    'evil.svg': svg,
    'evil.xhtml': `<html xmlns="http://www.w3.org/1999/xhtml"><script>${script('xhtml')}</script></html>`,
  }
}

/** The colours of a screenshot at these places, read by the browser that took it. */
async function coloursAt(page: Page, image: Buffer, places: readonly { x: number; y: number }[]): Promise<number[][]> {
  const url = JSON.stringify(`data:image/png;base64,${image.toString('base64')}`)
  const points = JSON.stringify(places.map(({ x, y }) => [x, y]))
  return await page.evaluate(`(async () => {
    const picture = new Image()
    picture.src = ${url}
    await picture.decode()
    const canvas = Object.assign(document.createElement('canvas'), { width: picture.width, height: picture.height })
    const context = canvas.getContext('2d')
    context.drawImage(picture, 0, 0)
    return ${points}.map(([x, y]) => [...context.getImageData(x, y, 1, 1).data].slice(0, 3))
  })()`)
}

/** Whether the script of an upload ran on this page. */
const RAN = `document.documentElement.dataset.ran === 'yes'`

test('a MapLibre page draws our tiles: each quarter of the world has its colour', SKIP, async () => {
  const page = await browser.newPage({ viewport: { width: SIDE, height: SIDE } })
  await page.goto(`http://map.localhost:${node.url('edge').port}/`)
  await page.waitForFunction(`document.title !== 'Map'`)
  assert.equal(await page.title(), 'drawn')
  const image = await page.screenshot()
  const colours = await coloursAt(page, image, QUARTERS)
  for (const [at, { colour, x, y }] of QUARTERS.entries())
    assert.deepEqual(colours[at], [...colour], `the pixel at ${x}, ${y}`)
  if (process.env['CAIRN_SCREENSHOTS'] === 'write') await writeFile(SCREENSHOT, image)
  await page.close()
})

test('a published website opens on its own origin, and its script runs there', SKIP, async () => {
  heard.length = 0
  const page = await browser.newPage()
  const origin = `http://upload.localhost:${node.url('edge').port}`
  const hit = page.waitForRequest((request) => request.url().includes('/html?'))
  await page.goto(`${origin}/`)
  await hit
  assert.equal(await page.evaluate(RAN), true)
  await page.goto(`${origin}/evil.svg`)
  assert.equal(await page.evaluate(RAN), true)
  await eventually(
    async () => await node.get('/healthz'),
    () => heard.length === 2,
  )
  assert.deepEqual(heard, [`/html?from=${encodeURIComponent(origin)}`, `/svg?from=${encodeURIComponent(origin)}`])
  await page.close()
})

test('what was uploaded runs nothing on an origin that has an API', SKIP, async () => {
  heard.length = 0
  const addresses = await Promise.all(
    Object.entries(uploads()).map(async ([name, text]) => {
      const directory = await node.files('again', { [name]: text })
      return await node.told('put', '-q', `${directory}/${name}`)
    }),
  )
  const { port } = node.url('edge')
  const names = Object.keys(uploads())
  const packs = Object.keys(EVIL_PACKS).flatMap((name) =>
    ['', '/0/0/0', '/0/0/0.html', '/1/0/0.svg', '/metadata', '/tiles.json'].map((rest) => `p/${name}${rest}`),
  )
  const paths = [
    'n/upload@1/',
    ...names.flatMap((name) => [`n/upload@1/${name}`, `u/evil/${name}`]),
    ...addresses.map((address) => `b3/${address.slice(3)}`),
    ...packs,
  ]
  const urls = [
    ...paths.flatMap((path) => [
      `http://127.0.0.1:${port}/edge/assets/${path}`,
      `http://localhost:${port}/edge/assets/${path}`,
    ]),
    ...addresses.flatMap((address) => ['storage', 'interop'].map((at) => node.url(at, `/o/${address}`).href)),
  ]
  for (const path of [...names.map((name) => `u/evil/${name}`), 'p/nothing/0/0/0']) {
    const { status, body } = await node.get(`/edge/assets/${path}`)
    assert.ok(status === 200 && body.includes('dataset.ran'), `${path} is what was uploaded`)
  }
  const waiting = urls.values()
  const visit = async (): Promise<void> => {
    const page = await browser.newPage()
    for (const url of waiting) {
      // What is a download does not open at all.
      const opened = await page.goto(url).catch((error: unknown) => error)
      if (opened instanceof Error) assert.match(opened.message, /Download is starting|ERR_ABORTED/, url)
      else assert.equal(await page.content().then((text) => /data-ran/.test(text)), false, url)
    }
    await page.close()
  }
  await Promise.all(Array.from({ length: PAGES_AT_ONCE }, visit))
  assert.deepEqual(heard, [])
})
