/**
 * Three nodes, the network between them, and a client of all of them.
 *
 *     client ──▶ oak  elm  ash ──▶ each other           every arrow is packets of the virtual network
 *
 * A client never waits for ever: it gets an answer, or its connection breaks. A node outside of every fault window answers
 * in time: a missing answer fails the seed.
 */
import { CairnError, Deadline, type Random, toCairnError } from '@cairn/kernel'
import { makeRootKey } from '@cairn/platform'
import type { IncomingResponse } from '@cairn/transport'
import { createKeyring, joinTokens, mintAdminToken } from '@cairn/wire'
import type { VirtualPlatform } from '../virtual/machine.ts'
import type { VirtualWorld } from '../virtual/world.ts'
import { type Answer, answerOf, brokenAnswer, SERVICE_NAMES, type ServiceName } from './answer.ts'
import { ConditionPoller } from './condition-poller.ts'
import { type FaultState, FaultWindows, isUndisturbed } from './fault-windows.ts'
import { type Copy, copyOf } from './faults/directories.ts'
import type { FaultKind } from './faults/fault.ts'
import { Matrix } from './matrix.ts'
import { Pacing } from './pacing.ts'
import { SeedTrace } from './seed-trace.ts'
import {
  clusterSettings,
  merge,
  NODE_NAMES,
  REPAIR_BYTES_PER_SECOND,
  serviceAt,
  TOKEN_FILE,
  urlOf,
  WRITER,
} from './settings.ts'
import { SimNode } from './sim-node.ts'
import type { Workload } from './workload.ts'

/** What a client lets a request take, and how much longer it listens for the answer. */
const REQUEST_MS = 2000
const SLACK_MS = 500
/** A packet that takes longer on its way leaves a node too little of that. */
const LATE_MS = SLACK_MS / 4
/** How long a fault waits for somebody to hit. */
const ASKED_MS_MAX = 400
/** Of so many changes that are told one is the last. */
const TOLD_MAX = 3
/** A packet that tells of a change. */
const TOLD = /^(?:answer|response) 2\d\d to (?:PUT|POST|DELETE) :(\d+)/
/** The client's machine. */
const CLIENT = 'client'

export interface Asking {
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: Uint8Array | string | object
  /** `null` for none; one that may do everything otherwise. */
  readonly token?: string | null
  readonly timeoutMs?: number
}

interface UnderWay {
  readonly service: ServiceName
  readonly node: string
}

export class Cluster {
  readonly world: VirtualWorld
  readonly nodes: readonly SimNode[]
  /** May do everything at every service of every node. */
  readonly token: string
  readonly trace: SeedTrace
  /** Polls what changes in the cluster. */
  readonly poller: ConditionPoller
  readonly matrix = new Matrix()
  readonly pacing = new Pacing(REPAIR_BYTES_PER_SECOND)
  /** The registry's directory, as it was before anything went wrong. */
  olderRegistry: Copy = new Map()
  /** Faults that struck something. */
  faults = 0
  readonly #client: VirtualPlatform
  readonly #workloads: readonly Workload[]
  readonly #underWay = new Set<UnderWay>()
  readonly #striking = new Set<{ readonly kind: FaultKind; readonly nodes: readonly string[] }>()
  readonly #faultWindows = new FaultWindows()
  readonly #toldHearers = new Set<(service: ServiceName, node: string) => void>()
  /** Kinds of faults each node has met. */
  readonly #met = new Map<string, Set<FaultKind>>()

  constructor(world: VirtualWorld, workloads: readonly Workload[]) {
    this.world = world
    this.#workloads = workloads
    this.trace = new SeedTrace(world.clock)
    this.poller = new ConditionPoller(world.clock)
    const rootKey = Buffer.from(world.random.bytes(32)).toString('hex')
    this.#client = world.machine(CLIENT).start()
    this.token = tokenOf(this.#client, rootKey)
    const files: Record<string, Uint8Array> = { [TOKEN_FILE]: Buffer.from(`${this.token}\n`) }
    for (const workload of workloads) Object.assign(files, workload.files)
    this.nodes = NODE_NAMES.map((name) => {
      const settings = workloads.map((each) => each.settings ?? {}).reduce(merge, clusterSettings(name))
      return new SimNode(world, { name, settings, files, rootKey })
    })
    world.network.links.onMishap = (mishap, { from, to }, delayMs) => {
      if (mishap !== 'cut') this.struck(mishap, [from, to])
      if (mishap === 'loss' || delayMs > LATE_MS) this.#faultWindows.once([from, to])
    }
    world.network.links.onSent = (packet) => {
      const { from, to, what } = packet
      this.pacing.see(packet, world.clock.now())
      const [, port] = to === CLIENT ? (TOLD.exec(what) ?? []) : []
      const service = serviceAt(Number(port))
      if (service !== undefined) for (const hear of this.#toldHearers) hear(service, from)
    }
  }

  /** The client's own clock; its wall clock is right. */
  get clock(): VirtualPlatform['clock'] {
    return this.#client.clock
  }

  node(name: string): SimNode {
    const node = this.nodes.find((each) => each.name === name)
    if (node === undefined) throw new Error(`There is no node ${name}.`)
    return node
  }

  /** A node that has this service, up or not. */
  someNode(service: ServiceName, random: Random): SimNode {
    if (service === 'registry') return this.node(WRITER)
    return this.node(NODE_NAMES[Math.floor(random.next() * NODE_NAMES.length)] ?? WRITER)
  }

  /** Asks as a client does, and reads the whole answer. Never throws for what a client can meet. */
  async send(node: SimNode, service: ServiceName, method: string, path: string, asking: Asking = {}): Promise<Answer> {
    const { timeoutMs = REQUEST_MS } = asking
    const deadline = Deadline.after(this.clock, timeoutMs + SLACK_MS)
    const { headers, bytes } = sendable(asking, this.token)
    headers['request-timeout'] ??= `${timeoutMs}ms`
    const url = new URL(path, urlOf(node.name, service))
    const body = bytes === undefined ? {} : { body: bytes }
    const before = this.#faultsOf(node)
    const underWay: UnderWay = { service, node: node.name }
    this.#begin(underWay)
    try {
      const answer = await read(() => this.#client.transport.request({ method, url, headers, ...body, deadline }))
      this.trace.tell(
        `${service} of ${node.name}: ${method} ${path.slice(0, 60)} ▶ ${answer.status} ${answer.code ?? ''}`,
      )
      if (answer.isBroken && answer.code === 'timeout' && isUndisturbed(before, this.#faultsOf(node)))
        throw new Error(`${node.name} did not answer ${method} ${path} of ${service} in ${timeoutMs + SLACK_MS} ms.`)
      return answer
    } finally {
      this.#underWay.delete(underWay)
    }
  }

  /** Waits for a moment in which a service of this node, one that the dice choose, is asked something; not for long. */
  async untilAsked(name: string, random: Random): Promise<void> {
    const service = SERVICE_NAMES[Math.floor(random.next() * SERVICE_NAMES.length)]
    const isAsked = (): boolean =>
      this.#underWay.values().some((underWay) => underWay.node === name && underWay.service === service)
    await this.poller.until(isAsked, 1, ASKED_MS_MAX)
  }

  /**
   * Calls `hear` at the moment when a service of this node, one that the dice choose, has told the client that something
   * is done: one of the next few times. Whatever was told too early can be lost from then on.
   */
  onceTold(name: string, random: Random, hear: () => void): Disposable {
    const chosen = SERVICE_NAMES[Math.floor(random.next() * SERVICE_NAMES.length)]
    let left = 1 + Math.floor(random.next() * TOLD_MAX)
    const hearer = (service: ServiceName, node: string): void => {
      if (service !== chosen || node !== name) return
      left -= 1
      if (left > 0) return
      this.#toldHearers.delete(hearer)
      hear()
    }
    this.#toldHearers.add(hearer)
    return {
      [Symbol.dispose]: () => {
        this.#toldHearers.delete(hearer)
      },
    }
  }

  /** These were hit, now. */
  struck(kind: FaultKind, nodes: readonly string[]): void {
    this.faults += 1
    for (const node of nodes) this.#met.set(node, (this.#met.get(node) ?? new Set()).add(kind))
    for (const { service, node } of this.#underWay) if (nodes.includes(node)) this.matrix.count(kind, service)
  }

  /** Whether the node has met a fault of one of these kinds. */
  hasMet({ name }: SimNode, kinds: readonly FaultKind[]): boolean {
    return kinds.some((kind) => this.#met.get(name)?.has(kind) === true)
  }

  /** These are hit from now on, until it is disposed of. */
  striking(kind: FaultKind, nodes: readonly string[]): Disposable {
    this.struck(kind, nodes)
    const striking = { kind, nodes }
    this.#striking.add(striking)
    return {
      [Symbol.dispose]: () => {
        this.#striking.delete(striking)
      },
    }
  }

  /** Clients that were told to send something again do. */
  async resend(): Promise<void> {
    for (const workload of this.#workloads) await workload.resend?.(this)
  }

  /** What the node kept for the service is gone for good. */
  lose(service: ServiceName, node: string): void {
    for (const workload of this.#workloads) workload.lose?.(service, node)
  }

  /** The registry as it is now is what an older copy will be. */
  keepRegistry(): void {
    this.olderRegistry = copyOf(this.node(WRITER).machine.drive)
  }

  /** From now on requests to these may stay unanswered, until it is disposed of. */
  openFaultWindow(nodes: readonly string[]): Disposable {
    return this.#faultWindows.open(nodes)
  }

  /** Starts a node that is down; it may fail, if something is wrong. */
  async bringUp(name: string): Promise<void> {
    // Whoever asked its last life gets no answer from this one.
    this.#faultWindows.once([name])
    const why = await this.node(name).start()
    this.trace.tell(why === undefined ? `  ${name} is up` : `  ${name} did not start: ${why}`)
  }

  /** Stops a node as an operator does. Whatever is under way, that ends, and cleanly. */
  async bringDown(name: string): Promise<void> {
    const left = await this.node(name).stop()
    this.trace.tell(`  ${name} is down`)
    if (left.length > 0) throw new Error(`${name} stopped and left ${left.join(', ')}.`)
  }

  /** The client goes home. */
  async close(): Promise<void> {
    await this.#client.workers.close()
  }

  #begin(underWay: UnderWay): void {
    this.#underWay.add(underWay)
    this.poller.changed()
    for (const { kind, nodes } of this.#striking)
      if (nodes.includes(underWay.node)) this.matrix.count(kind, underWay.service)
  }

  #faultsOf(node: SimNode): FaultState {
    return node.state === 'up' ? this.#faultWindows.of(node.name) : { tag: 'inside' }
  }
}

function tokenOf(platform: VirtualPlatform, rootKey: string): string {
  const { kid, key } = makeRootKey(platform, rootKey)
  const ring = createKeyring(kid, key)
  return joinTokens(SERVICE_NAMES.map((aud) => mintAdminToken(ring, { tid: platform.random.bytes(16), aud })))
}

function sendable({ headers = {}, body, token }: Asking, own: string) {
  const fields: Record<string, string> = {}
  const isJson = typeof body === 'object' && !(body instanceof Uint8Array)
  const bytes = body === undefined ? undefined : isJson ? Buffer.from(JSON.stringify(body)) : Buffer.from(body)
  if (isJson) fields['content-type'] = 'application/json'
  if (bytes !== undefined) fields['content-length'] = String(bytes.length)
  if (token !== null) fields['authorization'] = `Bearer ${token ?? own}`
  return { headers: { ...fields, ...headers }, bytes }
}

async function read(request: () => Promise<IncomingResponse>): Promise<Answer> {
  const parts: Uint8Array[] = []
  let status = 0
  try {
    const response = await request()
    status = response.status
    for await (const part of response.body) parts.push(part)
    return answerOf(status, response.headers, Buffer.concat(parts))
  } catch (error) {
    const known = toCairnError(error)
    if (!(known instanceof CairnError) || known.kind === 'Internal') throw error
    return brokenAnswer(known, status, Buffer.concat(parts))
  }
}
