import { CairnError } from '@cairn/kernel'

/** Nobody could be asked, or nobody who was asked answered: worth another try, unlike an answer that says no. */
export function noRoute(detail: string, cause?: unknown): CairnError {
  return new CairnError('Timeout', detail, { code: 'no_route', status: 503, cause })
}
