import { LmdbKvOpener, MemoryKvOpener } from '@cairn/platform'
import { testKv } from './kv-suite.ts'
import { inMemory, inWorld, onMachine } from './subject.ts'

testKv(
  'LmdbKv',
  onMachine((runtime) => new LmdbKvOpener(runtime)),
)
testKv(
  'MemoryKv',
  inMemory((runtime) => new MemoryKvOpener(runtime)),
)
testKv(
  'VirtualKv',
  inWorld((platform) => platform.kv),
)
