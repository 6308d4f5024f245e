/**
 * What the SDK promises, wherever it runs: this file is loaded by Node and by a browser, and imports nothing that only
 * one of them has.
 */
import { SystemRandom } from '@cairn/kernel'
import { Cairn, CairnError, parseTrust, type ServiceEvent } from '@cairn/sdk'

export interface World {
  /** Of the page, and of those who spoil answers. */
  readonly origin: string
  /** The services themselves, on origins of their own. */
  readonly direct: { readonly storageUrl: string; readonly indexUrl: string; readonly registryUrl: string }
  readonly token: string
  /** A trust file of the registry. */
  readonly trust: string
  /** A name that was committed, and what it means. */
  readonly name: string
  readonly manifest: string
}

/** One request, as it arrived. */
export interface Asked {
  readonly method: string
  readonly path: string
  readonly range: string | null
  /** Whoever asked did not wait for the end. */
  left: boolean
}

type Mode = 'clean' | 'tampered' | 'dropping' | 'hanging' | 'busy' | 'forged'

interface Case {
  readonly title: string
  readonly run: (world: World) => Promise<void>
}

const RANDOM = new SystemRandom()
const OBJECT_BYTES = 3_000_000
/** Bytes of an object's answer that come before the connection breaks: whole chunks, and a piece. */
export const BREAK_AT_BYTES = 200_000

/** A client behind somebody who spoils answers, and what it asked. */
function behind(world: World, mode: Mode): { cairn: Cairn; asked: () => Promise<readonly Asked[]> } {
  const attempt = RANDOM.bytes(8).join('-')
  const via = (service: string): string => `${world.origin}/via/${mode}/${attempt}/${service}`
  const urls = { storageUrl: via('storage'), indexUrl: via('index'), registryUrl: via('registry') }
  const breaking = async (url: URL | string, init?: RequestInit): Promise<Response> =>
    breakingOnce(await fetch(url, init), async () => {
      const range = new Headers(init?.headers).get('range') ?? ''
      await fetch(`${world.origin}/break/${attempt}/${range}`)
    })
  return {
    cairn: new Cairn({ ...urls, token: world.token, ...(mode === 'dropping' ? { fetch: breaking } : {}) }),
    asked: async () => (await (await fetch(`${world.origin}/seen/${attempt}`)).json()) as Asked[],
  }
}

/**
 * The answer, whose connection is broken once what comes before that was read: a stream that fails forgets what nobody
 * has taken from it yet.
 */
function breakingOnce(answer: Response, breakIt: () => Promise<void>): Response {
  if (answer.status !== 206) return answer
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array> | undefined
  let read = 0
  const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
    if (read === BREAK_AT_BYTES) await breakIt()
    const next = await reader?.read()
    if (next?.done !== false) {
      controller.close()
      return
    }
    read += next.value.length
    controller.enqueue(next.value)
  }
  const body = new ReadableStream({ pull }, { highWaterMark: 0 })
  return new Response(body, { status: answer.status, headers: answer.headers })
}

/** Bytes like no others, so that nothing of them is there already. */
function freshBytes(): Uint8Array {
  const bytes = new Uint8Array(OBJECT_BYTES)
  for (let at = 0; at < bytes.length; at += 60_000) bytes.set(RANDOM.bytes(60_000), at)
  return bytes
}

function check(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(`It is not so: ${what}.`)
}

function isSame(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

/** The error that something has to end with. */
async function refusal(work: Promise<unknown>): Promise<CairnError> {
  try {
    await work
  } catch (error) {
    if (error instanceof CairnError) return error
    throw error
  }
  throw new Error('It was not refused.')
}

/** What a stream gave, and the error it ended with, if it did. */
async function drained(stream: ReadableStream<Uint8Array>): Promise<{ bytes: Uint8Array; error: unknown }> {
  const pieces: Uint8Array[] = []
  const reader = stream.getReader()
  let error: unknown
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value)
  } catch (reason) {
    error = reason
  }
  const bytes = new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer())
  return { bytes, error }
}

export const CASES: readonly Case[] = [
  {
    title: 'what is put comes back, whole or in a range, from another origin too',
    run: async (world) => {
      const cairn = new Cairn({ ...world.direct, token: world.token })
      const content = freshBytes()
      let sent = 0
      const { address, newBytes } = await cairn.put(new Blob([content as Uint8Array<ArrayBuffer>]), {
        onProgress: ({ bytes }) => {
          sent = bytes
        },
      })
      check(newBytes === OBJECT_BYTES && sent === OBJECT_BYTES, 'all of it was new, and sent')
      const again = await cairn.put(content)
      check(again.address === address && again.newBytes === 0, 'put again, nothing of it is new')
      check(isSame((await drained(cairn.get(address))).bytes, content), 'the bytes are the same')
      const { bytes } = await drained(cairn.get(address, { range: { first: 65_530, last: 200_000 } }))
      check(isSame(bytes, content.subarray(65_530, 200_001)), 'so is a range')
    },
  },
  {
    title: 'an answer with another byte: the stream ends with an error before it, and every byte released is right',
    run: async (world) => {
      const content = freshBytes()
      const { address } = await behind(world, 'clean').cairn.put(content)
      const { bytes, error } = await drained(behind(world, 'tampered').cairn.get(address))
      check(error instanceof CairnError && error.kind === 'Integrity', 'the error says that the bytes are wrong')
      check(bytes.length < 150_000, 'nothing was released from the wrong byte on')
      check(isSame(bytes, content.subarray(0, bytes.length)), 'what was released is right')
    },
  },
  {
    title: 'a connection that breaks is taken up where it was',
    run: async (world) => {
      const content = freshBytes()
      const { address } = await behind(world, 'clean').cairn.put(content)
      const { cairn, asked } = behind(world, 'dropping')
      const { bytes, error } = await drained(cairn.get(address))
      check(error === undefined && isSame(bytes, content), 'all of it arrived')
      const ranges = (await asked()).flatMap(({ path, range }) => (path.startsWith('/o/') ? [range ?? ''] : []))
      const starts = ranges.map((range) => Number(/^bytes=(\d+)-/.exec(range)?.[1]))
      // Three windows, two of which broke in their fourth chunk: what had come of them is not asked for again.
      check(new Set(starts).size === 5 && starts.length === 5, `two went on further in: ${ranges.join(' ')}`)
      check(
        starts.every((start) => start % 65_536 === 0),
        `each at a chunk: ${ranges.join(' ')}`,
      )
    },
  },
  {
    title: 'an aborted signal ends a get, a put and a question at once, and the requests with them',
    run: async (world) => {
      const { cairn, asked } = behind(world, 'hanging')
      const why = new Error('enough')
      const works: readonly ((signal: AbortSignal) => Promise<unknown>)[] = [
        async (signal) => {
          const { error } = await drained(cairn.get(world.manifest, { signal }))
          throw error
        },
        async (signal) => await cairn.put(freshBytes(), { signal }),
        async (signal) => await cairn.resolve(`name:${world.name}`, { signal }),
        async (signal) => await cairn.registry.head({ signal }),
      ]
      for (const [index, work] of works.entries()) {
        const controller = new AbortController()
        const ended = refusal(work(controller.signal))
        while ((await asked()).length <= index) await pause()
        controller.abort(why)
        const { kind } = await ended
        check(kind === 'Canceled', `it says that it was canceled, not ${kind}`)
      }
      while ((await asked()).some(({ left }) => !left)) await pause()
    },
  },
  {
    title: 'a name is resolved with a proof that is verified here, and its holders are found',
    run: async (world) => {
      const { cairn } = behind(world, 'clean')
      const trust = parseTrust(new TextEncoder().encode(world.trust))
      const { manifest, proof = new Uint8Array() } = await cairn.resolve(`name:${world.name}`, { trust })
      check(manifest === world.manifest, 'it means what was committed')
      const verdict = await cairn.registry.verify(proof, { trust })
      check(verdict.kind === 'verified', 'the verdict is verified')
      const types = trust.logKeys.map(({ type }) => type)
      check(types.includes('ml-dsa-44-cosignature'), 'a key that a quantum computer does not break is among them')
      const { item, pin } = await cairn.registry.proven(world.name, { trust })
      check(item?.manifest === world.manifest, 'the registry proves the same')
      check(
        (await cairn.registry.proven(world.name, { pin })).item?.manifest === manifest,
        'what was seen is trusted later',
      )
      check(
        (await cairn.registry.proven('nobody@1', { trust })).item === null,
        'that a name means nothing is proved too',
      )
      const { providers } = await cairn.providers(world.manifest)
      check(providers.length > 0, 'somebody holds it')
      check(
        (await cairn.readTree(world.manifest)).some(({ name }) => name === 'index.html'),
        'and it is the site',
      )
    },
  },
  {
    title: 'a forged proof proves nothing: not to resolve, not to the registry, not with another trust',
    run: async (world) => {
      const trust = parseTrust(new TextEncoder().encode(world.trust))
      const { cairn } = behind(world, 'forged')
      const unproved = await cairn.resolve(`name:${world.name}`)
      check(unproved.manifest !== world.manifest, 'the answer is forged indeed')
      check((await refusal(cairn.resolve(`name:${world.name}`, { trust }))).kind === 'Integrity', 'resolve refuses it')
      check((await refusal(cairn.registry.proven(world.name, { trust }))).kind === 'Integrity', 'so does proven')
      const honest = await behind(world, 'clean').cairn.registry.proof({ name: world.name })
      check((await cairn.registry.verify(honest)).kind === 'consistent', 'without trust nothing is verified')
      for (let at = 100; at < honest.length; at += Math.ceil(honest.length / 64)) {
        const other = honest.with(at, honest[at] === 0x61 ? 0x62 : 0x61)
        check(
          (await cairn.registry.verify(other, { trust })).kind !== 'verified',
          `with another byte ${at} it is worth nothing`,
        )
      }
      const logKeys = trust.logKeys.map((key) => ({ ...key, publicKey: key.publicKey.map((byte) => byte ^ 1) }))
      const stranger = { ...trust, logKeys }
      check((await cairn.registry.verify(honest, { trust: stranger })).kind === 'refused', 'nor by another key')
    },
  },
  {
    title: 'only what is idempotent is tried again, and no sooner than Retry-After says',
    run: async (world) => {
      const startedAt = performance.now()
      const reading = behind(world, 'busy')
      check((await reading.cairn.registry.head()).version === 1, 'a question is answered at the second try')
      check(performance.now() - startedAt > 900, 'after the second that was asked for')
      check((await reading.asked()).length === 2, 'there were two tries')
      const writing = behind(world, 'busy')
      const { kind } = await refusal(writing.cairn.registry.propose({ items: [] }))
      check(kind !== 'Malformed' && (await writing.asked()).length === 1, 'a proposal is sent once')
    },
  },
  {
    title: 'events come as they happen, and after an absence from where one was',
    run: async (world) => {
      const cairn = new Cairn({ ...world.direct, token: world.token })
      const first = await heard(cairn, undefined, async () => await cairn.put(freshBytes()))
      check(first.topic === 'storage.ingest', `a put is told of, not ${first.topic}`)
      const { address } = await cairn.put(freshBytes())
      const next = await heard(cairn, first.id, async () => await Promise.resolve())
      check(JSON.stringify(next.body).includes(address), 'what happened meanwhile is told first')
    },
  },
]

/** The first event after `since`, or after `act`. */
async function heard(cairn: Cairn, since: string | undefined, act: () => Promise<unknown>): Promise<ServiceEvent> {
  const leaving = new AbortController()
  let acting: Promise<unknown> = Promise.resolve()
  const onOpen = (): void => {
    acting = act()
  }
  try {
    for await (const event of cairn.events({ since, signal: leaving.signal, onOpen })) {
      if (event.topic === 'storage.ingest' || event.topic === 'gap') return event
    }
  } finally {
    leaving.abort()
    await acting
  }
  throw new Error('The events ended.')
}

async function pause(): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, 10)
  })
}
