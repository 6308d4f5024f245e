/** Run under a limit on file size: writes past it and prints what the disk says, twice. */
import { MemoryLog, MemoryMetrics, systemRuntime, toCairnError } from '@cairn/kernel'
import { RealDisk } from '../real-disk.ts'

const disk = new RealDisk(systemRuntime(new MemoryLog(), new MemoryMetrics()))
await using file = await disk.open(process.argv[2] ?? '', { mode: 'create' })
const codes: string[] = []
for (let attempt = 0; attempt < 2; attempt += 1) {
  try {
    await file.append([new Uint8Array(3000), new Uint8Array(3000)])
  } catch (error) {
    codes.push(toCairnError(error).code)
  }
}
process.stdout.write(`${codes.join(', then ')}\n`)
