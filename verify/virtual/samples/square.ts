/** Work for a worker. */
import { setTimeout } from 'node:timers/promises'

export function square(input: number): number {
  return input * input
}

/** Takes real time, as loading a module or compiling WebAssembly does. */
export async function squareSlowly(input: number): Promise<number> {
  return await setTimeout(20, input * input)
}
