/** The storage service of the node a command is about, found and opened. */
import { CairnError } from '@cairn/kernel'
import { keepHeapSmall, RealProcess } from '@cairn/platform'
import { Cairn, type CairnOptions, type Fetch } from '@cairn/sdk'
import { parseDuration } from '@cairn/wire'
import type { CommandContext } from './command.ts'
import type { Credentials } from './credentials.ts'
import { credentialsOf } from './node-admin.ts'
import { findService } from './service-client.ts'

type CairnFetch = NonNullable<CairnOptions['fetch']>

/** Smaller bodies are not worth the difference. */
const LARGE_BYTES = 256 * 1024

/** `fetch` that sends a large body from where it lies; given bytes, it would copy them and leave the copy to the collector. */
const fetchInPlace: CairnFetch = async (url, init) => {
  const { body } = init
  if (!(body instanceof Uint8Array) || body.length < LARGE_BYTES) return await fetch(url, init)
  return await fetch(url, { ...init, body: streamOf(body), duplex: 'half' })
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start: (controller) => {
      controller.enqueue(bytes)
      controller.close()
    },
  })
}

type StorageContext = Pick<CommandContext, 'given' | 'terminal'>

/** Lets `use` talk to the service; a signal to this process aborts it, and what it had under way is over when this ends. */
export async function withStorage<T>(
  context: StorageContext,
  use: (cairn: Cairn, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  keepHeapSmall()
  const { url: storageUrl } = await findService(context, 'storage')
  const fetch = showingToken(credentialsOf(context), storageUrl)
  const timeout = context.given.text('timeout')
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout)
  const interrupted = new AbortController()
  const stopHearing = new RealProcess().onSignal(() =>
    interrupted.abort(new CairnError('Canceled', 'Interrupted. The same command goes on where this one was.')),
  )
  try {
    return await use(new Cairn({ storageUrl, timeoutMs, fetch }), interrupted.signal)
  } finally {
    stopHearing()
  }
}

/** Shows the token to the storage with what needs one; reading needs none, as a rule, until the storage says so. */
function showingToken(credentials: Credentials, storageUrl: string): Fetch {
  const base = new URL(storageUrl)
  let readsNeedToken = false
  const shown: Fetch = async (url, init) => {
    const authorization = `Bearer ${await credentials.bearerFor(base)}`
    return await fetchInPlace(url, { ...init, headers: { ...(init.headers as Record<string, string>), authorization } })
  }
  return async (url, init) => {
    if (init.method !== 'GET' || readsNeedToken) return await shown(url, init)
    const response = await fetchInPlace(url, init)
    if (response.status !== 401) return response
    await response.body?.cancel()
    readsNeedToken = true
    return await shown(url, init)
  }
}
