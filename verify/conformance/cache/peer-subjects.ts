/** Other caches in front of the same origin, with the configurations in `peers/`. */
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@cairn/platform/testing'
import type { Subject } from './edge-subject.ts'

const PEERS = new URL('./peers/', import.meta.url)

export interface Peer {
  readonly name: string
  readonly program: string
  start(originPort: number): Promise<Subject>
}

interface Place {
  readonly directory: string
  readonly port: number
}

async function startPeer(
  { name, program }: Pick<Peer, 'name' | 'program'>,
  prepare: (place: Place) => Promise<readonly string[]>,
): Promise<Subject> {
  const place = { directory: await mkdtemp(join(tmpdir(), 'cairn-cache-')), port: await freePorts(1) }
  const child = spawn(program, await prepare(place), { stdio: 'ignore' })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
  })
  await reachable(name, place.port)
  return {
    name,
    base: `http://127.0.0.1:${place.port}`,
    stop: async () => {
      child.kill()
      await ended
      await rm(place.directory, { recursive: true, force: true })
    },
  }
}

/** A configuration with its words in capitals filled in; gives the file. */
async function configure({ directory }: Place, name: string, words: Readonly<Record<string, string>>): Promise<string> {
  const text = await readFile(new URL(name, PEERS), 'utf8')
  const file = join(directory, name)
  // Only outside of comments.
  const filled = text.split('\n').map((line) => (line.startsWith('#') ? line : fill(line, words)))
  await writeFile(file, filled.join('\n'))
  return file
}

function fill(line: string, words: Readonly<Record<string, string>>): string {
  return Object.entries(words).reduce((text, [word, value]) => text.replaceAll(word, value), line)
}

async function reachable(name: string, port: number): Promise<void> {
  for (let tries = 0; tries < 250; tries += 1) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (isOpen) return
    await sleep(40)
  }
  throw new Error(`${name} does not listen on port ${port}.`)
}

const isRoot = process.getuid?.() === 0

const NGINX: Peer = {
  name: 'nginx',
  program: '/usr/sbin/nginx',
  start: async (originPort) =>
    await startPeer(NGINX, async (place) => {
      const words = { DIRECTORY: place.directory, PORT: String(place.port), ORIGIN: String(originPort) }
      const file = await configure(place, 'nginx.conf', { ...words, USER: isRoot ? 'user root;' : '' })
      return ['-p', place.directory, '-c', file, '-e', join(place.directory, 'error.log')]
    }),
}

const VARNISH: Peer = {
  name: 'Varnish',
  program: '/usr/sbin/varnishd',
  start: async (originPort) =>
    await startPeer(VARNISH, async (place) => {
      const file = await configure(place, 'varnish.vcl', { ORIGIN: String(originPort) })
      const listen = ['-F', '-a', `127.0.0.1:${place.port}`, '-n', join(place.directory, 'work')]
      const asTold = ['-p', 'default_ttl=0', '-p', 'default_grace=0', '-p', 'default_keep=3600']
      return [...listen, ...asTold, '-j', 'none', '-s', 'malloc,64m', '-f', file]
    }),
}

/** Those that are installed, and the names of those that are not. */
export function findPeers(): { readonly peers: readonly Peer[]; readonly absent: readonly string[] } {
  const all = [NGINX, VARNISH]
  const peers = all.filter(({ program }) => existsSync(program))
  return { peers, absent: all.filter((peer) => !peers.includes(peer)).map(({ name }) => name) }
}
