import { MemoryDisk, RealDisk } from '@cairn/platform'
import { testDisk } from './disk-suite.ts'
import { inMemory, inWorld, onMachine } from './subject.ts'

testDisk(
  'RealDisk',
  onMachine((runtime) => new RealDisk(runtime)),
)
testDisk(
  'MemoryDisk',
  inMemory((runtime) => new MemoryDisk(runtime, 1024 * 1024)),
)
testDisk(
  'VirtualDisk',
  inWorld((platform) => platform.disk),
)
