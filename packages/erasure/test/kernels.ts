/** The kernels as bytes, and what of them is checked in. */
import { readFileSync } from 'node:fs'
import { addressOf } from '@cairn/wire'
import { assembleKernel, LOOKUPS } from '../src/kernel.ts'

export const SUMS = new URL('./kernels.json', import.meta.url)

/** The quicker lookup first, as a host is offered them. */
const NAMES = ['mix-relaxed', 'mix']

export interface KernelSum {
  readonly name: string
  readonly bytes: number
  readonly blake3: string
}

export function assembled(): { readonly name: string; readonly module: Uint8Array }[] {
  return LOOKUPS.map((lookup, at) => ({ name: NAMES[at] ?? `mix-${at}`, module: assembleKernel(lookup) }))
}

export function sumsOf(modules: ReturnType<typeof assembled>): KernelSum[] {
  return modules.map(({ name, module }) => ({ name, bytes: module.length, blake3: addressOf(module) }))
}

export function checkedIn(): KernelSum[] {
  return JSON.parse(readFileSync(SUMS, 'utf8')) as KernelSum[]
}
