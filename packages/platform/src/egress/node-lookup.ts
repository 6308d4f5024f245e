import { lookup } from 'node:dns/promises'
import { abortable } from './abortable.ts'
import type { Lookup } from './transport.ts'
import { transportError } from './transport-error.ts'

/** The system's resolver, hosts file included. */
export const nodeLookup: Lookup = {
  async addresses(host, { signal = new AbortController().signal } = {}) {
    try {
      const found = await abortable(signal, lookup(host, { all: true, order: 'verbatim' }))
      return found.map(({ address }) => address)
    } catch (error) {
      throw transportError(error, host, signal)
    }
  },
}
