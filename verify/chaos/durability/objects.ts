import assert from 'node:assert/strict'
import { addressOf } from '@cairn/wire'
import { noise } from '../../virtual/noise.ts'
import { type Member, until } from './cluster.ts'

/** Objects of one chunk, of a few, and of many. */
export function objectsOf(count: number, seed: number): Buffer[] {
  const sizes = [700, 65_536, 65_537, 300_000]
  return Array.from({ length: count }, (_, at) => noise((sizes[at % sizes.length] ?? 0) + at, seed * 1000 + at))
}

export async function putAll(member: Member, objects: readonly Buffer[]): Promise<void> {
  for (const bytes of objects) {
    const path = `/o/${addressOf(bytes)}?stream`
    // A copy that comes too late on a busy machine is told, and the put tried again, as a client does.
    const put = async (): Promise<number> => (await member.ask('PUT', path, bytes)).status
    const status = await until('a put', put, (told) => told !== 503)
    assert.ok(status === 201 || status === 200, String(status))
  }
}

export async function readAll(members: readonly Member[], objects: readonly Buffer[]): Promise<void> {
  for (const member of members)
    for (const bytes of objects) {
      const { status, body } = await member.ask('GET', `/o/${addressOf(bytes)}`)
      assert.equal(status, 200, `${member.name}: ${body.toString('latin1', 0, 300)}`)
      assert.ok(body.equals(bytes))
    }
}
