/** `cairn interop adopt`: give up what the journal of interop lost, so that webhooks and puts are taken again. */
import type { Run } from './command.ts'
import { withInterop } from './interop-service.ts'
import { sameFlags } from './registry-words.ts'

export const adopt: Run = async (context) =>
  await withInterop(context, async ({ client, call }) => {
    const { lost, line } = await client.adopt(call())
    const flags = sameFlags(context.given)
    return {
      result: { lost, line },
      message: `given up, and written down in line ${line} of the audit: ${lost}`,
      warnings: ['webhooks that were forgotten count as new if they come again, and messages that were lost stay lost'],
      next: [`npx cairn audit verify${flags}`],
    }
  })
