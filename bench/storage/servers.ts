/** The servers of the bench: a node with the storage service alone, nginx with one worker, over the same bytes, and bare Node. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePorts } from '@cairn/platform/testing'
import { Program } from './programs.ts'

const LAUNCHER = new URL('../../cli/bin/cairn.js', import.meta.url)

export interface Server extends AsyncDisposable {
  readonly url: string
}

export interface StorageNode extends Server {
  readonly token: string
  readonly pid: number
}

/** A node as `npm start` runs it, with the keys of `[storage]` given here; its log goes nowhere. */
export async function startNode(
  directory: string,
  keys: Readonly<Record<string, string | number>> = {},
): Promise<StorageNode> {
  const lines = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`)
  return await startServices(directory, ['storage'], `[storage]\n${lines.join('')}`)
}

/** The same with other services and all of its configuration; the URL is that of the service named last. */
export async function startServices(
  directory: string,
  services: readonly string[],
  toml: string,
): Promise<StorageNode> {
  await mkdir(directory, { recursive: true })
  const config = join(directory, 'bench.toml')
  await writeFile(config, toml)
  const data = join(directory, 'data')
  const options = ['start', '--data', data, '--port-base', '0', '--services', services.join(','), '--config', config]
  const program = Program.node(LAUNCHER, options, 'ignore')
  const ready = JSON.parse(await program.firstLine()) as { readonly urls: Readonly<Record<string, readonly string[]>> }
  const url = ready.urls[services.at(-1) ?? '']?.find((each) => each.startsWith('http:'))
  if (url === undefined) throw new Error('The node does not say where it listens.')
  const token = (await readFile(join(data, 'admin.token'), 'utf8')).trim()
  return { url, token, pid: program.pid, [Symbol.asyncDispose]: async () => await program.stop() }
}

/** Stores the bytes and returns the path they are read under. */
export async function putObject({ url, token }: StorageNode, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const answer = await fetch(`${url}/o?stream`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/octet-stream' },
    body: bytes,
  })
  const { address } = (await answer.json()) as { readonly address: string }
  if (answer.status > 201) throw new Error(`The node answered ${answer.status} to a put.`)
  return `/o/${address}`
}

/** `bare-server.ts` with a body of so many bytes. */
export async function startBare(length: number): Promise<Server> {
  const program = Program.node(new URL('./bare-server.ts', import.meta.url), [String(length)])
  return { url: await program.firstLine(), [Symbol.asyncDispose]: async () => await program.stop() }
}

/** nginx as Debian sets it up, but with one worker and without an access log; serves the files below `root`. */
export async function startNginx(program: string, directory: string, root: string): Promise<Server> {
  const port = await freePorts(1)
  await mkdir(directory, { recursive: true })
  const config = join(directory, 'nginx.conf')
  await writeFile(config, nginxConfig(directory, root, port))
  const nginx = new Program(program, ['-p', directory, '-c', config, '-e', join(directory, 'error.log')])
  await reachable(port)
  return { url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: async () => await nginx.stop() }
}

function nginxConfig(directory: string, root: string, port: number): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return `
${process.getuid?.() === 0 ? 'user root;' : ''}
daemon off;
worker_processes 1;
pid ${directory}/nginx.pid;
events { worker_connections 768; }
http {
  sendfile on;
  tcp_nopush on;
  access_log off;
  keepalive_requests 1000000000;
  default_type application/octet-stream;
  ${temporary.map((name) => `${name}_temp_path ${directory}/${name};`).join('\n  ')}
  server { listen 127.0.0.1:${port}; root ${root}; }
}
`
}

async function reachable(port: number): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const isOpen = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('connect', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (isOpen) return
    await sleep(20)
  }
  throw new Error(`Nobody listens on port ${port}.`)
}
