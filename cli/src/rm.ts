/** `cairn rm ADDRESS` */
import { parseAddress } from '@cairn/wire'
import type { Run } from './command.ts'
import { withStorage } from './storage.ts'

export const rm: Run = async (context) => {
  const address = parseAddress(context.given.operands[0] ?? '')
  await withStorage(context, async (cairn, signal) => await cairn.remove(address, { signal }))
  return { result: { address, removed: true }, message: `${address} is gone` }
}
