/** Three nodes on the virtual platform, and the API they tell of: whatever they are asked, and whatever goes wrong. */
import assert from 'node:assert/strict'
import { Deadline } from '@cairn/kernel'
import { addressOf } from '@cairn/wire'
import { z } from 'zod'
import { SERVICE_NAMES, type ServiceName } from '../simulator/answer.ts'
import { Cluster } from '../simulator/cluster.ts'
import { untilReady } from '../simulator/repair.ts'
import { urlOf, WRITER } from '../simulator/settings.ts'
import type { VirtualMachine, VirtualPlatform } from '../virtual/machine.ts'
import { VirtualWorld } from '../virtual/world.ts'
import { bytesOf, linesAndBody } from './inputs.ts'

const STORED = bytesOf('an object that is here')
export const STORED_ID = addressOf(STORED)
export const NOWHERE = `b3:${'0'.repeat(64)}`
/** Whatever a request asks for itself, it is answered sooner. */
const ANSWER_MS_MAX = 120_000
/** Between two requests, so that no rate is exceeded for long. */
const THINK_MS = 5
/** After something went wrong, so that those who watch have seen it. */
const SETTLE_MS = 3000
/** What was asked of a slow drive comes to its end: of the slowest here, a sync that began last takes up to 300 s. */
const RECOVER_MS = 310_000

/** By status; those that refuse name their codes. */
type Responses = Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
type Content = Readonly<Record<string, { readonly schema?: z.core.JSONSchema.JSONSchema }>>
/** By path as OpenAPI spells it, then by method. */
type Told = Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>

export interface Request {
  readonly service: ServiceName
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Uint8Array
}

/** Something that is wrong with the node that is asked, or around it. */
export interface Trouble {
  readonly begin: (machine: VirtualMachine, cluster: Cluster) => Promise<void>
  /** Its drive fails: then some may be told just that, 500. */
  readonly isOfDrive?: true
}

/** Of what has a body or a query. */
const BODIES: readonly string[] = [
  `storage POST /c/missing\ncontent-type: application/json\n\n{"ids":["${STORED_ID}","${NOWHERE}"]}`,
  `storage POST /copies/known\ncontent-type: application/json\n\n{"ids":["${STORED_ID}"]}`,
  `storage GET /o/${STORED_ID}\nrange: bytes=0-3,5-\nif-none-match: "${STORED_ID}"`,
  `storage GET /admin/objects?limit=2&cursor=${STORED_ID}`,
  `index GET /resolve/${STORED_ID}?fresh=true&limit=3`,
  `index POST /announce\ncontent-type: application/json\n\n{"records":["AAAA"]}`,
  `edge GET /edge/assets/n/site@1.0/index.html\naccept-encoding: gzip, br;q=0`,
  `registry POST /registry/propose\ncontent-type: application/json\n\n{"payload":{"items":[{"kind":"region","id":"eu","prev":null}]}}`,
  `interop POST /put\ncontent-type: multipart/form-data; boundary=b\n\n--b\r\ncontent-disposition: form-data; name="file"\r\n\r\nhi\r\n--b--\r\n`,
  `storage POST /o\n\nsome bytes`,
  `storage POST /o?stream\n\nbytes as they come`,
  `storage PUT /refs/me/${STORED_ID}`,
  `storage DELETE /refs/me/${STORED_ID}`,
  `storage POST /admin/repair\ncontent-type: application/json\n\n{"address":"${STORED_ID}"}`,
  `index POST /admin/pin\ncontent-type: application/json\n\n{"cid":"${STORED_ID}"}`,
  `index POST /admin/unpin\ncontent-type: application/json\n\n{"cid":"${STORED_ID}"}`,
  `index GET /providers/${NOWHERE}`,
  `registry GET /registry/0`,
  `registry GET /registry/proof/0`,
  `edge GET /edge/assets/b3/${NOWHERE.slice(3)}`,
  `edge PUT /edge/admin/packs/a\ncontent-type: application/json\n\n{"path":"/maps/a"}`,
  `interop POST /put\ncontent-type: text/plain\n\nsome bytes`,
  `interop GET /o/${STORED_ID}`,
]

/** Three nodes and whoever asks the first of them. */
export class FuzzCluster {
  readonly #world = new VirtualWorld(1)
  readonly #cluster = new Cluster(this.#world, [])
  readonly #client: VirtualPlatform = this.#world.machine('fuzzer').start()
  readonly #told = new Map<ServiceName, Told>()
  readonly #forms = new Map<object, z.ZodType>()
  requests = 0
  #trouble: Trouble | undefined
  /** Of the first node's drive, before anything was wrong with it. */
  #capacityBytes = 0

  static async open(): Promise<FuzzCluster> {
    const open = new FuzzCluster()
    await open.#world.run(open.#begin())
    return open
  }

  async #begin(): Promise<void> {
    await Promise.all(this.#cluster.nodes.map(async ({ name }) => await this.#cluster.bringUp(name)))
    await untilReady(this.#cluster)
    const node = this.#cluster.node(WRITER)
    for (const service of SERVICE_NAMES) {
      const answer = await this.#cluster.send(node, service, 'GET', '/openapi.json')
      this.#told.set(service, (answer.json() as { readonly paths: Told }).paths)
    }
    await this.#store()
  }

  /** So that there is something to ask for. */
  async #store(): Promise<void> {
    const stored = await this.#cluster.send(this.#cluster.node(WRITER), 'storage', 'PUT', `/o/${STORED_ID}`, {
      body: STORED,
    })
    assert.ok([200, 201].includes(stored.status), `not stored: ${stored.status} ${stored.code ?? ''}`)
  }

  /** One for everything the API tells of, and some more. */
  seeds(): Uint8Array[] {
    const each = [...this.#told].flatMap(([service, paths]) =>
      Object.entries(paths).flatMap(([path, methods]) =>
        Object.keys(methods).map((method) => {
          const target = path.replaceAll(/\{[^}]*(?:address|cid|b3)[^}]*\}/g, STORED_ID).replaceAll(/\{[^}]*\}/g, 'x')
          const line = `${service} ${method.toUpperCase()} ${target}`
          return method === 'get' || method === 'delete' ? line : `${line}\ncontent-type: application/json\n\n{}`
        }),
      ),
    )
    return [...each, ...BODIES].map(bytesOf)
  }

  /** Asks, and holds the answer against what the API tells. */
  async hold({ service, method, url, headers, body }: Request): Promise<void> {
    this.requests += 1
    const sent = { authorization: `Bearer ${this.#cluster.token}`, ...headers, 'content-length': String(body.length) }
    const deadline = Deadline.after(this.#client.clock, ANSWER_MS_MAX)
    const ask = async (): Promise<{ readonly status: number; readonly text: string; readonly isJson: boolean }> => {
      await this.#world.sleep(THINK_MS)
      const response = await this.#client.transport.request({ method, url, headers: sent, body, deadline })
      const { status } = response
      // Some answers never end.
      if (response.headers['content-type'] === 'text/event-stream') {
        response.body.cancel()
        return { status, text: '', isJson: false }
      }
      const parts: Uint8Array[] = []
      for await (const part of response.body) parts.push(part)
      const isJson = response.headers['content-type'] === 'application/json'
      return { status, text: Buffer.concat(parts).toString(), isJson }
    }
    const { status, text, isJson } = await this.#world.run(ask()).catch((cause: unknown) => {
      // To the fuzzer a refusal would be right; here nobody may be left without an answer.
      throw new Error(`${service}: ${method} ${url.pathname} was not answered`, { cause })
    })
    if (method === 'DELETE' && status === 204 && this.#trouble === undefined) await this.#world.run(this.#store())
    const code = /"code":"(\w+)"/.exec(text)?.[1] ?? ''
    const what = `${service}: ${method} ${url.pathname} was answered ${status} ${code}`
    const isOfDrive = status === 500 && code === 'disk_io' && this.#trouble?.isOfDrive === true
    assert.ok(status !== 500 || isOfDrive, what)
    if (isOfDrive) return
    const told = this.#toldOf(service, method, url.pathname)
    if (told === undefined) return
    const answer = told[status]
    assert.ok(answer !== undefined, `${what}, and nobody tells of that`)
    // What is wrong with a token is told in one place for all; a path that is not in plain form is of no route.
    const isCommon = status === 401 || status === 403 || /plain form/.test(text)
    assert.ok(status < 400 || isCommon || answer.description.includes(`\`${code}\``), `${what}, and has another code`)
    const schema = answer.content?.['application/json']?.schema
    if (status < 300 && schema !== undefined && isJson) this.#holdForm(schema, text, what)
  }

  #holdForm(schema: z.core.JSONSchema.JSONSchema, text: string, what: string): void {
    const known = this.#forms.get(schema) ?? z.fromJSONSchema(schema)
    this.#forms.set(schema, known)
    const { success, error } = known.safeParse(JSON.parse(text))
    assert.ok(success, `${what}, and not in its form: ${error?.issues[0]?.path.join('.')} ${error?.issues[0]?.message}`)
  }

  /** What may be answered to this, by status; nothing where the API does not know it. */
  #toldOf(service: ServiceName, method: string, path: string): Responses | undefined {
    if (!isSpelled(path)) return undefined
    const told = Object.entries(this.#told.get(service) ?? {})
    const matching = told.filter(([template]) => templateOf(template).test(path))
    const found = matching.map(([, methods]) => methods[method.toLowerCase()])
    const [only] = found
    return found.length === 1 ? only?.responses : undefined
  }

  /** From now on the first node has this. */
  async suffer(trouble: Trouble): Promise<void> {
    this.#trouble = trouble
    this.#capacityBytes = this.#world.machine(WRITER).drive.capacityBytes
    await this.#world.run(trouble.begin(this.#world.machine(WRITER), this.#cluster))
    await this.#world.run(this.#world.sleep(SETTLE_MS))
  }

  /** A stop waits only so long for a drive that does not answer, or is full; what is looked at here is answers. */
  async #recover(): Promise<void> {
    const { faults, drive } = this.#world.machine(WRITER)
    faults.clear()
    drive.capacityBytes = this.#capacityBytes
    await this.#world.sleep(RECOVER_MS)
  }

  async close(): Promise<void> {
    const end = async (): Promise<void> => {
      if (this.#trouble !== undefined) await this.#recover()
      await Promise.all(this.#cluster.nodes.map(async ({ name }) => await this.#cluster.bringDown(name)))
      await this.#cluster.close()
      await this.#client.workers.close()
    }
    await this.#world.run(end())
  }
}

/** What is not even spelled rightly is no path of anything. */
function isSpelled(path: string): boolean {
  try {
    return decodeURIComponent(path) !== ''
  } catch {
    return false
  }
}

function templateOf(template: string): RegExp {
  const parts = template.split(/\{[^}]*\}/).map((part) => part.replaceAll(/[.*+?^$()|[\]\\]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('[^/]+')}$`)
}

/** What an input asks; nothing if no client could send it. */
export function requestOf(input: Uint8Array): Request | undefined {
  const { lines, body } = linesAndBody(input)
  const [name = '', method = '', target = ''] = lines[0]?.split(' ') ?? []
  const service = SERVICE_NAMES.find((each) => each === name) ?? SERVICE_NAMES[name.length % SERVICE_NAMES.length]
  if (service === undefined || !/^[A-Z]{1,20}$/.test(method) || !target.startsWith('/')) return undefined
  const url = URL.parse(`${urlOf(WRITER, service)}${target}`)
  if (url === null || url.host !== new URL(urlOf(WRITER, service)).host) return undefined
  const fields = lines
    .slice(1)
    .map((line) => line.split(': ', 2))
    .filter(([field = '', value = '']) => isField(field, value))
  const headers = Object.fromEntries(fields.map(([field = '', value = '']) => [field.toLowerCase(), value]))
  return { service, method, url, headers, body }
}

/** What HTTP lets through; the framing is the transport's own. */
function isField(name: string, value: string): boolean {
  const isFraming = /^(?:content-length|transfer-encoding|connection|host|expect|upgrade)$/i.test(name)
  return !isFraming && /^[\w-]+$/.test(name) && /^[\x20-\x7e\x80-\xff]*$/.test(value)
}
