/** A few lines with one fault of each fate in them. */

export const LOWEST: number = -3

export function isFull(count: number): boolean {
  return count >= 3
}

export function countDown(from: number): number {
  let left = from
  while (left > 0) left -= 1
  return left
}

export async function store(put: () => Promise<void>): Promise<string> {
  await put()
  return 'stored'
}

export function isForgotten(age: number): boolean {
  return age === 0
}
