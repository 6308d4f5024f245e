/** A path after its first `segments` segments, as it stands in the request and without a leading slash. */
export function restOf(path: string, segments: number): string {
  let at = 0
  for (let passed = 0; passed < segments; passed += 1) at = path.indexOf('/', at + 1)
  return at === -1 ? '' : path.slice(at + 1)
}
