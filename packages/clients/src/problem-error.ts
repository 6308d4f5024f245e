import type { CairnError } from '@cairn/kernel'
import type { IncomingResponse } from '@cairn/platform'
import { problemError } from '@cairn/wire'
import { readText } from './response-body.ts'

/** A problem is a few hundred bytes; more is not read. */
const PROBLEM_BYTES_MAX = 64 * 1024

/** Reads the refusal of another service, and returns it as the error it was over there. */
export async function readProblem(response: IncomingResponse, target: string): Promise<CairnError> {
  const { status, headers } = response
  const text = await readText(response, PROBLEM_BYTES_MAX)
  return problemError(
    { status, contentType: headers['content-type'], retryAfter: headers['retry-after'], text },
    target,
  )
}
