/**
 * `npm run image` makes an image of the program without any container tool: an OCI layout in `build/image`, for each
 * architecture of Linux from layers that are the same bytes whenever they are made of the same files.
 *
 *     packages of Debian ─▶ the C and C++ libraries ─┐
 *     cairnd-node-SYSTEM ─▶ Node ────────────────────┼─▶ manifest ─┬─▶ index.json
 *     cairnd, installed ──▶ the program ─────────────┘   (amd64)   └ (arm64)
 *
 * `npm run build -- --all-systems` first; `-- --architecture amd64` makes the image of one, `--build DIR` of packages elsewhere.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { gzipSync } from 'node:zlib'
import { readManifests } from './repository.ts'

interface Architecture {
  /** As OCI and Debian call it. */
  readonly name: string
  /** As Node does. */
  readonly system: string
  /** Where Debian puts libraries. */
  readonly triplet: string
  /** The path of the loader that programs name. */
  readonly loader: string
}

const ARCHITECTURES: readonly Architecture[] = [
  { name: 'amd64', system: 'linux-x64', triplet: 'x86_64-linux-gnu', loader: 'lib64/ld-linux-x86-64.so.2' },
  { name: 'arm64', system: 'linux-arm64', triplet: 'aarch64-linux-gnu', loader: 'lib/ld-linux-aarch64.so.1' },
]

/** What Node is linked with. */
const LIBRARIES = ['libc6', 'libstdc++6', 'libgcc-s1', 'libatomic1'] as const
/** Not root, and no user of any machine. */
const USER = 10_001
const PORTS = [7070, 7071, 7072, 7073, 7074, 7075] as const

interface Descriptor {
  readonly mediaType: string
  readonly digest: string
  readonly size: number
}

interface Layer extends Descriptor {
  /** Of what is in it, before it was compressed. */
  readonly diffId: string
}

const { values } = parseArgs({
  options: { architecture: { type: 'string' }, build: { type: 'string', default: 'build' } },
})
const BUILD = resolve(values.build)
const OUTPUT = join(BUILD, 'image')
const BLOBS = join(OUTPUT, 'blobs/sha256')

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

function digestOf(bytes: Uint8Array): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`
}

function writeBlob(mediaType: string, bytes: Uint8Array): Descriptor {
  const digest = digestOf(bytes)
  writeFileSync(join(BLOBS, digest.slice('sha256:'.length)), bytes)
  return { mediaType, digest, size: bytes.length }
}

function writeJson(mediaType: string, value: unknown): Descriptor {
  return writeBlob(mediaType, Buffer.from(JSON.stringify(value)))
}

/** Nothing of when and by whom it was made is in it. */
function writeLayer(root: string, owner: number, scratch: string): Layer {
  const path = join(scratch, 'layer.tar')
  const same = ['--sort=name', '--mtime=@0', `--owner=${owner}`, `--group=${owner}`, '--numeric-owner', '--format=gnu']
  run('tar', [...same, '-cf', path, '-C', root, ...readdirSync(root).sort()], scratch)
  const bytes = readFileSync(path)
  const layer = writeBlob('application/vnd.oci.image.layer.v1.tar+gzip', gzipSync(bytes))
  return { ...layer, diffId: digestOf(bytes) }
}

/** The packages for another architecture too, without a word of it to the machine's own package manager. */
function fetchLibraries(architecture: Architecture, scratch: string): string {
  const apt = join(scratch, `apt-${architecture.name}`)
  for (const folder of ['state/lists/partial', 'cache/archives/partial', 'files'])
    mkdirSync(join(apt, folder), { recursive: true })
  const options = [
    `Dir::State=${apt}/state`,
    'Dir::State::status=/dev/null',
    `Dir::Cache=${apt}/cache`,
    `APT::Architecture=${architecture.name}`,
    `APT::Architectures=${architecture.name}`,
    'APT::Sandbox::User=root',
  ].flatMap((option) => ['-o', option])
  const files = join(apt, 'files')
  run('apt-get', [...options, '-qq', 'update'], files)
  run('apt-get', [...options, '-qq', 'download', ...LIBRARIES], files)
  return files
}

function layLibraries({ triplet, loader }: Architecture, packages: string, scratch: string, root: string): void {
  const unpacked = join(scratch, `unpacked-${triplet}`)
  for (const file of readdirSync(packages).sort()) run('dpkg-deb', ['-x', join(packages, file), unpacked], scratch)
  const libraries = join('usr/lib', triplet)
  mkdirSync(join(root, libraries), { recursive: true })
  for (const folder of [join('lib', triplet), libraries]) {
    for (const name of readdirSync(join(unpacked, folder)))
      if (/\.so(?:\.\d+)*$/.test(name)) copy(join(unpacked, folder, name), join(root, libraries, name))
  }
  copy(join(unpacked, 'usr/share/doc'), join(root, 'usr/share/doc'))
  symlinkSync('usr/lib', join(root, 'lib'))
  if (loader.startsWith('lib64')) symlinkSync(libraries, join(root, 'lib64'))
  else symlinkSync(join(triplet, loader.slice('lib/'.length)), join(root, 'usr', loader))
}

function layNode({ system }: Architecture, root: string): void {
  mkdirSync(join(root, 'usr/bin'), { recursive: true })
  const folder = join(BUILD, `cairnd-node-${system}`)
  cpSync(join(folder, 'bin/node'), join(root, 'usr/bin/node'))
  chmodSync(join(root, 'usr/bin/node'), 0o755)
  cpSync(join(folder, 'LICENSE'), join(root, 'usr/share/doc/node/LICENSE'))
}

/** The program, and of what it depends on in machine code that of the architecture; the Node is in a layer of its own. */
function layProgram({ system }: Architecture, version: string, scratch: string, root: string): void {
  const folder = mkdtempSync(join(scratch, 'program-'))
  writeFileSync(join(folder, 'package.json'), '{"private":true}\n')
  const [os = '', cpu = ''] = system.split('-')
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock']
  const target = [`--os=${os}`, `--cpu=${cpu}`, '--libc=glibc']
  run('npm', ['install', ...quiet, ...target, join(BUILD, `cairnd-${version}.tgz`)], folder)
  rmSync(join(folder, 'node_modules', `cairnd-node-${system}`), { recursive: true, force: true })
  // Written by npm for itself, with the path it was installed from.
  rmSync(join(folder, 'node_modules/.package-lock.json'))
  mkdirSync(join(root, 'opt'), { recursive: true })
  copy(join(folder, 'node_modules'), join(root, 'opt/cairn/node_modules'))
  // A runtime mounts over these, and cannot make them on a root it may not write.
  for (const name of ['dev', 'etc', 'proc', 'sys']) mkdirSync(join(root, name))
  writeFileSync(join(root, 'etc/passwd'), `root:x:0:0::/:/\ncairn:x:${USER}:${USER}::/data:/\n`)
  writeFileSync(join(root, 'etc/group'), `root:x:0:\ncairn:x:${USER}:\n`)
}

/** What the node may write: everything else may be read-only. */
function layData(root: string): void {
  for (const name of ['data', 'tmp']) mkdirSync(join(root, name), { mode: 0o700 })
}

function copy(from: string, to: string): void {
  cpSync(from, to, { recursive: true, verbatimSymlinks: true })
}

function imageConfig(architecture: Architecture, layers: readonly Layer[]): unknown {
  return {
    created: new Date(0).toISOString(),
    architecture: architecture.name,
    os: 'linux',
    config: {
      User: `${USER}:${USER}`,
      Env: ['PATH=/usr/bin', 'CAIRN_DATA=/data/node', 'CAIRN_STATE=/data/state', 'NODE_ENV=production'],
      Entrypoint: ['/usr/bin/node', '/opt/cairn/node_modules/cairnd/dist/cli/bin/cairn.js'],
      Cmd: ['start'],
      WorkingDir: '/data',
      Volumes: { '/data': {} },
      ExposedPorts: Object.fromEntries(PORTS.map((port) => [`${port}/tcp`, {}])),
      StopSignal: 'SIGTERM',
    },
    rootfs: { type: 'layers', diff_ids: layers.map(({ diffId }) => diffId) },
  }
}

/** A layer of whatever `lay` puts into a folder. */
function layer(scratch: string, lay: (root: string) => void, owner = 0): Layer {
  const root = mkdtempSync(join(scratch, 'layer-'))
  lay(root)
  const written = writeLayer(root, owner, scratch)
  rmSync(root, { recursive: true })
  return written
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json'
const INDEX = 'application/vnd.oci.image.index.v1+json'

function writeImage(architecture: Architecture, data: Layer, version: string, scratch: string): Descriptor {
  const packages = fetchLibraries(architecture, scratch)
  const layers = [
    layer(scratch, (root) => {
      layLibraries(architecture, packages, scratch, root)
    }),
    layer(scratch, (root) => {
      layNode(architecture, root)
    }),
    layer(scratch, (root) => {
      layProgram(architecture, version, scratch, root)
    }),
    data,
  ]
  return writeJson(MANIFEST, {
    schemaVersion: 2,
    mediaType: MANIFEST,
    config: writeJson('application/vnd.oci.image.config.v1+json', imageConfig(architecture, layers)),
    layers: layers.map(({ mediaType, digest, size }) => ({ mediaType, digest, size })),
    annotations: {
      'org.opencontainers.image.title': 'cairnd',
      'org.opencontainers.image.version': version,
      'org.opencontainers.image.licenses': 'Apache-2.0',
      'org.debian.packages': readdirSync(packages).sort().join(' '),
    },
  })
}

function writeLayout(wanted: readonly Architecture[], version: string): string {
  rmSync(OUTPUT, { recursive: true, force: true })
  mkdirSync(BLOBS, { recursive: true })
  const scratch = mkdtempSync(join(tmpdir(), 'cairn-image-'))
  try {
    const data = layer(scratch, layData, USER)
    const manifests = wanted.map((architecture) => ({
      ...writeImage(architecture, data, version, scratch),
      platform: { os: 'linux', architecture: architecture.name },
    }))
    const index = writeJson(INDEX, { schemaVersion: 2, mediaType: INDEX, manifests })
    const named = { ...index, annotations: { 'org.opencontainers.image.ref.name': version } }
    writeFileSync(
      join(OUTPUT, 'index.json'),
      JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [named] }),
    )
    writeFileSync(join(OUTPUT, 'oci-layout'), JSON.stringify({ imageLayoutVersion: '1.0.0' }))
    return index.digest
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

const wanted = ARCHITECTURES.filter(({ name }) => values.architecture === undefined || name === values.architecture)
const [{ version = '' } = {}] = readManifests()
process.stdout.write(`${OUTPUT}:${version}  ${writeLayout(wanted, version)}\n`)
