/** The image that `npm run image` makes of fresh packages: as skopeo reads it, and its root file system started. */
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { freePorts } from '@cairn/platform/testing'
import { Folder, REPOSITORY, run, skipUnlessThere } from '../deploy/tool.ts'

/** One for each service, and one for the node itself. */
const PORTS = 6

function made(program: string, ...args: readonly string[]): string {
  const { code, text } = run(program, args)
  assert.equal(code, 0, `${program} ${args.join(' ')}\n${text}`)
  return text
}

test('the image is one to skopeo, and its node is ready as no root on a root that cannot be written', {
  skip: skipUnlessThere('skopeo', 'bwrap') || namespaceObstacle(),
}, async (context) => {
  const architecture = process.arch === 'x64' ? 'amd64' : process.arch
  using folder = new Folder()
  const root = folder.path
  made(process.execPath, join(REPOSITORY, 'tools/src/build.ts'), '--output', root)
  const image = [join(REPOSITORY, 'tools/src/image.ts'), '--build', root, '--architecture', architecture]
  const first = made(process.execPath, ...image)
  assert.equal(made(process.execPath, ...image), first, 'the same files make another image')
  const layout = join(root, 'image')
  const inspected = JSON.parse(made('skopeo', 'inspect', '--config', `oci:${layout}:0.1.0`)) as ImageConfig
  assert.equal(inspected.architecture, architecture)

  const tree = join(root, 'tree')
  mkdirSync(tree)
  for (const digest of layersOf(layout))
    made('tar', '-xzf', join(layout, 'blobs/sha256', digest.slice('sha256:'.length)), '-C', tree)
  const data = join(root, 'data')
  mkdirSync(data)
  const [user = ''] = inspected.config.User.split(':')
  const variables = inspected.config.Env.flatMap((pair) => ['--setenv', ...pair.split(/=(.*)/s).slice(0, 2)])
  const port = await freePorts(PORTS)
  // Of this machine it sees the network alone.
  const seen = ['--ro-bind', tree, '/', '--bind', data, '/data', '--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp']
  const apart = ['--unshare-user', '--uid', user, '--gid', user, '--unshare-pid', '--unshare-ipc', '--die-with-parent']
  const program = [...inspected.config.Entrypoint, ...inspected.config.Cmd, '--port-base', String(port)]
  const args = [...seen, ...apart, '--clearenv', ...variables, '--chdir', '/data', ...program]
  const node = spawn('bwrap', args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(node, 'exit')
  try {
    const lines = createInterface(node.stdout)[Symbol.asyncIterator]()
    const { value } = (await lines.next()) as { readonly value?: string }
    assert.match(value ?? '', /"event":"ready"/)
    const { status } = await fetch(`http://127.0.0.1:${port + 1}/readyz`)
    assert.equal(status, 200)
    context.diagnostic(`the image is ready as user ${user}: ${inspected.rootfs.diff_ids.length} layers`)
  } finally {
    node.kill('SIGTERM')
    await ended
  }
  // A root that can be written is not needed: nothing but the data has changed.
  assert.deepEqual(readdirSync(data).sort(), ['node', 'state'])
})

interface ImageConfig {
  readonly architecture: string
  readonly config: {
    readonly User: string
    readonly Env: readonly string[]
    readonly Entrypoint: readonly string[]
    readonly Cmd: readonly string[]
  }
  readonly rootfs: { readonly diff_ids: readonly string[] }
}

interface Listed {
  readonly digest: string
}

/** Of the only image of the layout, the lowest first. */
function layersOf(layout: string): readonly string[] {
  const blob = ({ digest }: Listed): unknown =>
    JSON.parse(readFileSync(join(layout, 'blobs/sha256', digest.slice('sha256:'.length)), 'utf8'))
  const { manifests: named } = JSON.parse(readFileSync(join(layout, 'index.json'), 'utf8')) as Manifests
  const { manifests: images } = blob(named[0]) as Manifests
  return (blob(images[0]) as { readonly layers: readonly Listed[] }).layers.map(({ digest }) => digest)
}

interface Manifests {
  readonly manifests: readonly [Listed]
}

/** Why nothing can be run with another root here; false when it can. */
function namespaceObstacle(): string | false {
  const { status, stderr } = spawnSync('bwrap', ['--ro-bind', '/', '/', '--unshare-user', '--uid', '1', 'true'], {
    encoding: 'utf8',
  })
  return status === 0 ? false : `no user namespaces here: ${stderr.trim()}`
}
