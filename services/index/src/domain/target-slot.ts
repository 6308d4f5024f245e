/** Labels have few values: a target is shown as one of these, though each has its breaker to itself. */
const SLOTS = 64

/** The same target always has the same slot. */
export function slotOf(target: string): string {
  let hash = 0x811c9dc5
  for (let at = 0; at < target.length; at += 1) hash = Math.imul(hash ^ target.charCodeAt(at), 0x01000193)
  return String((hash >>> 0) % SLOTS)
}
