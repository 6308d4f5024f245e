/** The library, asking through the console's origin with its session. Loaded by the pages that need it. */
import { Cairn } from '@cairn/sdk'
import { proofHeader } from './session.ts'

const at = (service: string): string => `${location.origin}/svc/${service}/`

/** The node puts the session's own token in the place of this one. */
const SESSION = 'session'

export const cairn = new Cairn({
  storageUrl: at('storage'),
  registryUrl: at('registry'),
  indexUrl: at('index'),
  edgeUrl: at('edge'),
  interopUrl: at('interop'),
  token: SESSION,
  fetch: async (url, init) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(proofHeader())) headers.set(name, value)
    return await fetch(url, { ...init, headers })
  },
})
