/**
 * `npm run build:wasm`: assembles the kernels and writes their sums; with a directory, the modules as well.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { assembled, SUMS, sumsOf } from './kernels.ts'

const [directory] = process.argv.slice(2)
const modules = assembled()
writeFileSync(SUMS, `${JSON.stringify(sumsOf(modules), null, 2)}\n`)
for (const { name, bytes, blake3 } of sumsOf(modules)) process.stdout.write(`${name}.wasm  ${bytes} bytes  ${blake3}\n`)
if (directory !== undefined) {
  mkdirSync(directory, { recursive: true })
  for (const { name, module } of modules) writeFileSync(join(directory, `${name}.wasm`), module)
}
