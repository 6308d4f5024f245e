import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { layerViolation } from './layers.ts'

const ALLOWED: readonly (readonly [string, string])[] = [
  ['services/storage/test/sim.test.ts', '../../../verify/virtual/world.ts'],
  ['packages/kernel/src/channel/queue.ts', './queue-core.ts'],
  ['packages/kernel/src/channel/queue.ts', '../errors.ts'],
  ['packages/wire/src/address.ts', '@cairn/kernel'],
  ['packages/http/src/pipeline/ingress.ts', '@cairn/platform'],
  ['packages/platform/src/egress/undici-transport.ts', '@cairn/transport'],
  ['packages/clients/src/caller.ts', '@cairn/transport'],
  ['packages/clients/test/sample-service.ts', '@cairn/http'],
  ['packages/mailbox/src/mailbox.ts', '@cairn/store'],
  ['services/edge/src/main.ts', '@cairn/clients'],
  ['services/edge/src/config.ts', 'zod'],
  ['node/src/main.ts', '@cairn/edge'],
  ['cli/src/main.ts', '@cairn/node'],
  ['verify/model/queue.ts', '@cairn/kernel'],
  ['verify/model/queue.ts', '../../packages/kernel/src/channel/queue-core.ts'],
  ['tools/src/generated-docs.ts', '@cairn/storage'],
  ['tools/src/generated-docs.ts', '@cairn/storage/testing'],
  ['packages/mailbox/src/mailbox.test.ts', '@cairn/kernel/testing'],
]

const FORBIDDEN: readonly (readonly [string, string, RegExp])[] = [
  ['services/storage/src/main.ts', '../../../verify/virtual/world.ts', /reaches into verify by path/],
  ['packages/kernel/src/queue.ts', '@cairn/wire', /packages\/kernel \(kernel\) may not import packages\/wire \(wire\)/],
  ['packages/wire/src/address.ts', '@cairn/platform', /point down only/],
  ['packages/platform/src/disk.ts', '@cairn/store', /point down only/],
  ['packages/platform/src/disk.ts', '@cairn/http', /point down only/],
  ['packages/transport/src/transport.ts', '@cairn/platform', /point down only/],
  ['packages/clients/src/caller.ts', '@cairn/platform', /\(portable\) may not import packages\/platform/],
  ['sdk/src/client.ts', '@cairn/http', /\(portable\) may not import packages\/http/],
  ['packages/store/src/journal.ts', '@cairn/storage', /packages\/store \(shared\) may not import services\/storage/],
  ['services/edge/src/main.ts', '@cairn/storage', /imports the service services\/storage.*@cairn\/clients/],
  ['services/edge/src/main.ts', '@cairn/node', /point down only/],
  ['packages/kernel/src/queue.test.ts', '@cairn/verify', /\(kernel\) may not import verify \(workshop\)/],
  ['node/src/main.ts', '@cairn/bench', /point down only/],
  ['node/src/main.ts', '@cairn/tools', /point down only/],
  ['services/edge/src/main.ts', '@cairn/kernel/src/queue.ts', /inside packages\/kernel.*public index/],
  ['services/edge/src/main.ts', '@cairn/kernel/testing', /inside packages\/kernel.*public index/],
  ['packages/kernel/src/queue.test.ts', '@cairn/platform/testing', /point down only/],
  ['services/edge/src/main.ts', '../../../packages/kernel/src/index.ts', /reaches into packages\/kernel by path/],
  ['services/edge/src/main.ts', '../../storage/src/main.ts', /reaches into services\/storage by path/],
  ['bench/kernel.bench.ts', '../packages/kernel/src/channel/queue-core.ts', /reaches into packages\/kernel by path/],
  ['packages/kernel/src/queue.ts', '@cairn/kernel', /this very package/],
  ['packages/cache/src/cache.ts', '@cairn/kernel', /packages\/cache has no layer/],
]

describe('layers', () => {
  for (const [file, specifier] of ALLOWED) {
    test(`${file} may import ${specifier}`, () => assert.equal(layerViolation(file, specifier), undefined))
  }
  for (const [file, specifier, reason] of FORBIDDEN) {
    test(`${file} may not import ${specifier}`, () => assert.match(layerViolation(file, specifier) ?? '', reason))
  }
})
