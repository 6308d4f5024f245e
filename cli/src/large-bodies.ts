import type { CairnOptions } from '@cairn/sdk'

type Fetch = NonNullable<CairnOptions['fetch']>

/** Smaller bodies are not worth the difference. */
const LARGE_BYTES = 256 * 1024

/** `fetch` that sends a large body from where it lies; given bytes, it would copy them and leave the copy to the collector. */
export const fetchInPlace: Fetch = async (url, init) => {
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
