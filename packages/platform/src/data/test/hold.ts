/** Opens the data directory given, says so, and holds it until it is killed. */
import { MemoryLog, MemoryMetrics, systemRuntime, toCairnError } from '@cairn/kernel'
import { systemCrypto } from '../../crypto.ts'
import { RealDisk } from '../../disk/real-disk.ts'
import { openDataDirectory } from '../data-directory.ts'

const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
const machine = { ...runtime, disk: new RealDisk(runtime), crypto: systemCrypto }
try {
  const data = await openDataDirectory(machine, {
    path: process.argv[2] ?? '',
    secrets: { 'node-identity': () => runtime.random.bytes(32) },
  })
  process.stdout.write(`open ${Buffer.from(data.secret('node-identity')).toString('hex')}\n`)
  process.stdin.resume()
} catch (error) {
  const { code, message } = toCairnError(error)
  process.stdout.write(`${code}: ${message}\n`)
}
