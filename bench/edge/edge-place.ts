/** What the cases of the edge bench share: a node with storage and edge, nginx over the same bytes. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { Program } from '../storage/programs.ts'
import { putObject, type Server, startNginx } from '../storage/servers.ts'

const LAUNCHER = new URL('../../cli/bin/cairn.js', import.meta.url)
/** Among the dependencies: on the drive the repository is on. `/tmp` may be memory. */
const CACHE = fileURLToPath(new URL('../../node_modules/.cache/', import.meta.url))
const BYTES = 10 * 1024
export const TILE_PATH = '/edge/assets/p/map/1/0/0'

interface Started {
  readonly edge: string
  /** Path of the object of 10 KiB. */
  readonly asset: string
}

/** An MBTiles file with one tile, 1/0/0; its rows count from the south. */
function makePack(path: string, tile: Uint8Array): void {
  using database = new DatabaseSync(path)
  database.exec(`CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    INSERT INTO metadata VALUES ('name', 'bench'), ('format', 'png'), ('minzoom', '1'), ('maxzoom', '1');`)
  database.prepare('INSERT INTO tiles VALUES (1, 0, 1, ?)').run(tile)
}

export class EdgePlace implements AsyncDisposable {
  readonly #directory: string
  readonly #nginxProgram: string
  #program: Program | undefined
  #started: Promise<Started> | undefined
  #peer: Promise<Server> | undefined

  constructor(nginx: string) {
    mkdirSync(CACHE, { recursive: true })
    this.#directory = mkdtempSync(join(CACHE, 'edge-bench-'))
    this.#nginxProgram = nginx
  }

  /** The edge, as `npm start` runs it but for its rate; what comes from `origin` is cached. */
  async node(origin = 'http://127.0.0.1:9'): Promise<Started> {
    this.#started ??= this.#start(origin)
    return await this.#started
  }

  /** nginx with the same object and the same tile, under the same paths. */
  async peer(): Promise<string> {
    this.#peer ??= startNginx(this.#nginxProgram, join(this.#directory, 'nginx'), join(this.#directory, 'files'))
    return (await this.#peer).url
  }

  async #start(origin: string): Promise<Started> {
    const bytes = new Uint8Array(BYTES).map((_, at) => (at * 7919) >> 3)
    makePack(join(this.#directory, 'map'), bytes)
    const toml = `[edge]
mode = "live"
allow = [${JSON.stringify(new URL(origin).host)}]
dev_allow_loopback_http = true
[edge.ingress]
max_rps = 0
[edge.routes]
origin = ${JSON.stringify(`${origin}/`)}
[[edge.packs]]
name = "map"
path = ${JSON.stringify(join(this.#directory, 'map'))}
`
    await writeFile(join(this.#directory, 'bench.toml'), toml)
    const data = join(this.#directory, 'data')
    const options = ['--data', data, '--config', join(this.#directory, 'bench.toml'), '--services', 'storage,edge']
    this.#program = Program.node(LAUNCHER, ['start', '--port-base', '0', ...options], 'ignore')
    const { urls, pid } = JSON.parse(await this.#program.firstLine()) as {
      readonly urls: Readonly<Record<string, readonly string[]>>
      readonly pid: number
    }
    const urlOf = (name: string): string => urls[name]?.find((each) => each.startsWith('http:')) ?? ''
    const token = (await readFile(join(data, 'admin.token'), 'utf8')).trim()
    const storage = { url: urlOf('storage'), token, pid, [Symbol.asyncDispose]: async () => await Promise.resolve() }
    const address = (await putObject(storage, bytes)).replace(/^.*b3:/, '')
    const asset = `/edge/assets/b3/${address}`
    for (const path of [asset, TILE_PATH]) {
      const file = join(this.#directory, 'files', path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, bytes)
    }
    return { edge: urlOf('edge').replace(/\/$/, ''), asset }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#program?.stop()
    await (await this.#peer)?.[Symbol.asyncDispose]()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}
