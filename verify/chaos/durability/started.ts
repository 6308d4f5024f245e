import { freePorts } from '@cairn/platform/testing'
import type { Home } from '../../../node/test/running-node.ts'
import { cluster, isWhole, type Member, until } from './cluster.ts'

/** Nodes of these names, each other's peers on loopback, up and agreed. */
export async function started(home: Home, names: readonly string[]): Promise<Member[]> {
  const port = await freePorts(names.length)
  const members = cluster(home, Object.fromEntries(names.map((name, at) => [name, `127.0.0.1:${port + at}`])))
  for (const member of members) await member.start()
  for (const member of members) await whole(member)
  return members
}

export async function whole(member: Member): Promise<void> {
  await until(`${member.name} is whole`, async () => await member.report(), isWhole)
}
