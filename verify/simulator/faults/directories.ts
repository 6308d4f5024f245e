/**
 * What cannot be made anew is gone, or is what it was a while ago, when a node starts: it says so, and only reads.
 *
 *     interop's journal   removed ──▶ 503 JOURNAL_LOST, reads ──▶ adopted at the end: a line of the audit says what is lost
 *     registry's log      put back ─▶ custody: nothing is signed ──▶ the newest copy is put back: it goes on by itself
 */
import assert from 'node:assert/strict'
import type { Drive } from '../../virtual/disk/drive.ts'
import type { Answer } from '../answer.ts'
import type { Cluster } from '../cluster.ts'
import { DATA, REGISTRY_DIRECTORY, WRITER } from '../settings.ts'
import type { SimNode } from '../sim-node.ts'
import { eventually } from '../workloads/eventually.ts'
import type { Fault } from './fault.ts'

const JOURNAL = `${DATA}/interop/journal`
/** Long enough for a registry that would sign a new time, or answer its followers, to do so. */
const CUSTODY_MS = 3000

export const lostJournal: Fault = async (cluster, name) => {
  const node = cluster.node(name)
  const { drive } = node.machine
  const { count } = (await answered(cluster, node, 'interop', '/audit?limit=1')).json() as { readonly count: number }
  if (count === 0) return undefined
  // A clean stop has written down how much there is; the node knows of lines it wrote since only by what it can ask.
  await cluster.bringDown(name)
  for (const path of drive.files(JOURNAL)) drive.remove(path)
  cluster.lose('interop', name)
  const lasting = cluster.striking('lost-journal', [name])
  await cluster.bringUp(name)
  await refused(cluster, node, 'interop', '/put', { payload: '' }, '503 JOURNAL_LOST')
  await answered(cluster, node, 'interop', '/audit?limit=1')
  return async () => {
    const isAdopted = async (): Promise<boolean> => {
      const { status, ...answer } = await cluster.send(node, 'interop', 'POST', '/admin/adopt')
      if (status !== 200) return false
      const { lost, line } = answer.json() as { readonly lost: string; readonly line: number }
      assert.ok(lost !== '' && line > count, `${name} had ${count} lines, and gave up: ${line} ${lost}`)
      return true
    }
    await eventually(cluster, `${name} does not give up its journal`, isAdopted)
    lasting[Symbol.dispose]()
  }
}

export const rolledBack: Fault = async (cluster) => {
  const node = cluster.node(WRITER)
  const { drive } = node.machine
  const note = (await answered(cluster, node, 'registry', '/log/checkpoint')).body
  await cluster.bringDown(WRITER)
  const newest = copyOf(drive)
  putBack(drive, cluster.olderRegistry)
  await cluster.bringUp(WRITER)
  const own = (await answered(cluster, node, 'registry', '/log/checkpoint')).body
  const isOlder = sizeOf(own) < sizeOf(note)
  if (isOlder) {
    using _lasting = cluster.striking('rolled-back', [WRITER])
    const body = { payload: { items: [{ kind: 'region', id: 'eu', prev: null }] } }
    await refused(cluster, node, 'registry', '/registry/proposals', body, '503 NotReady')
    await refused(cluster, node, 'registry', '/admin/adopt', note, '409 Behind')
    await refused(cluster, node, 'registry', '/admin/adopt', own, '409 Behind')
    await cluster.world.sleep(CUSTODY_MS)
    const later = (await answered(cluster, node, 'registry', '/log/checkpoint')).body
    assert.ok(later.equals(own), 'the registry signed in custody')
  }
  await cluster.bringDown(WRITER)
  putBack(drive, newest)
  await cluster.bringUp(WRITER)
  const isWhole = async (): Promise<boolean> => {
    const answer = await cluster.send(node, 'registry', 'GET', '/log/checkpoint')
    return answer.status === 200 && sizeOf(answer.body) >= sizeOf(note)
  }
  await eventually(cluster, 'the registry does not go on with its newest copy', isWhole)
  // For those who ask from now on it has just happened.
  const lasting = isOlder ? cluster.striking('rolled-back', [WRITER]) : undefined
  return () => lasting?.[Symbol.dispose]()
}

export type Copy = ReadonlyMap<string, Uint8Array>

export function copyOf(drive: Drive): Copy {
  return new Map(drive.files(REGISTRY_DIRECTORY).map((path) => [path, drive.content(path)]))
}

function putBack(drive: Drive, copy: Copy): void {
  for (const path of drive.files(REGISTRY_DIRECTORY)) if (!copy.has(path)) drive.remove(path)
  for (const [path, bytes] of copy) drive.put(path, bytes)
}

/** Of a checkpoint: its second line. */
function sizeOf(note: Buffer): number {
  return Number(note.toString().split('\n')[1])
}

async function answered(
  cluster: Cluster,
  node: SimNode,
  service: 'interop' | 'registry',
  path: string,
): Promise<Answer> {
  const answers: Answer[] = []
  const isAnswered = async (): Promise<boolean> => {
    const answer = await cluster.send(node, service, 'GET', path)
    answers.push(answer)
    return answer.status === 200
  }
  await eventually(cluster, `${node.name} does not answer ${path}`, isAnswered)
  return answers.at(-1) ?? assert.fail('nobody was asked')
}

async function refused(
  cluster: Cluster,
  node: SimNode,
  service: 'interop' | 'registry',
  path: string,
  body: object | Uint8Array,
  expected: string,
): Promise<void> {
  const isRefused = async (): Promise<boolean> => {
    const { status, code } = await cluster.send(node, service, 'POST', path, { body })
    assert.ok(status >= 400 || status === 0, `${path} was answered ${status}, and should be ${expected}`)
    return `${status} ${code ?? ''}` === expected
  }
  await eventually(cluster, `${node.name} does not refuse ${path} with ${expected}`, isRefused)
}
