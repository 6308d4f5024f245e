/**
 * `npm run build` makes the packages that are published, below `build/` or `-- --output DIR`: the program `cairnd` and the library
 * `cairn-sdk`, each with the workspace packages it uses in it, as JavaScript that any Node and bundler reads.
 *
 *     src/**.ts ─┬─ esbuild, file by file ─▶ .js, .js.map ─┐
 *                └─ tsc, of the library ───▶ .d.ts ────────┴─ specifiers rewritten ─▶ build/NAME/dist ─▶ NAME-VERSION.tgz
 *
 * Node refuses types under node_modules, so TypeScript itself cannot be shipped. `cairnd-node-SYSTEM` is the Node of the
 * dependencies without its headers; `-- --all-systems` makes those of the others too, fetched from the registry.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { transformSync } from 'esbuild'
import {
  type NodePackage,
  nodeManifest,
  PRODUCTS,
  type Product,
  type PublishedManifest,
  packedNodes,
  publishedManifest,
  reachedFrom,
  rewriteSpecifiers,
  sourcesOf,
} from './published.ts'
import { findFiles, type Manifest, REPOSITORY, readManifests } from './repository.ts'

const { values } = parseArgs({
  options: { 'all-systems': { type: 'boolean', default: false }, output: { type: 'string', default: 'build' } },
})
const BUILD = resolve(values.output)
const TYPES = join(BUILD, 'types')

/** Our declarations name `Disposable`, which the library of a compiler for older targets leaves out. */
const DISPOSABLE = '/// <reference lib="esnext.disposable" />\n'

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd, encoding: 'utf8' })
  if (error !== undefined) throw error
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
}

function write(path: string, content: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

function writeProduct(product: Product, manifests: readonly Manifest[]): void {
  const folders = reachedFrom(product.folder, manifests)
  const root = join(BUILD, product.name)
  const dist = join(root, 'dist')
  const rewritten = (text: string, path: string): string => rewriteSpecifiers(text, path, manifests)
  for (const path of sourcesOf(folders)) {
    const { code, map } = transformSync(readFileSync(join(REPOSITORY, path), 'utf8'), {
      loader: 'ts',
      target: product.target,
      sourcemap: 'external',
      sourcefile: path,
      tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true } },
    })
    const script = path.replace(/\.ts$/, '.js')
    write(join(dist, script), `${rewritten(code, path)}//# sourceMappingURL=${script.split('/').at(-1)}.map\n`)
    write(join(dist, `${script}.map`), map)
  }
  for (const path of product.extraFiles) {
    write(join(dist, path), rewritten(readFileSync(join(REPOSITORY, path), 'utf8'), path))
  }
  if (product.hasTypes) {
    for (const path of findFiles(['**/*.d.ts'], TYPES)) {
      const head = path === `${product.folder}/src/index.d.ts` ? DISPOSABLE : ''
      write(join(dist, path), `${head}${rewritten(readFileSync(join(TYPES, path), 'utf8'), path)}`)
    }
  }
  const manifest = publishedManifest(product, folders, manifests)
  const { version, type } = manifest
  // The program says its version by the manifest of its folder.
  write(join(dist, product.folder, 'package.json'), `${JSON.stringify({ version, type })}\n`)
  cpSync(join(REPOSITORY, product.readme), join(root, 'README.md'))
  cpSync(join(REPOSITORY, 'LICENSE'), join(root, 'LICENSE'))
  pack(root, manifest)
}

function pack(root: string, manifest: PublishedManifest): void {
  write(join(root, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`)
  run('npm', ['pack', '--pack-destination', BUILD, '--ignore-scripts'], root)
  process.stdout.write(`${join(BUILD, `${manifest.name}-${manifest.version}.tgz`)}\n`)
}

/** Refuses a program that has not the sum which the launcher will ask for. */
function writeNode(node: NodePackage, sums: Readonly<Record<string, string>>): void {
  const manifest = nodeManifest(node)
  const root = join(BUILD, manifest.name)
  const source = packageFolder(node)
  const [path = ''] = Object.values(manifest['bin'] as Readonly<Record<string, string>>)
  const sum = createHash('sha256')
    .update(readFileSync(join(source, path)))
    .digest('hex')
  if (sum !== sums[`${node.system} ${node.version}`]) throw new Error(`${node.name}: ${path} has the sum ${sum}.`)
  mkdirSync(join(root, 'bin'), { recursive: true })
  cpSync(join(source, path), join(root, path))
  cpSync(join(source, 'LICENSE'), join(root, 'LICENSE'))
  write(
    join(root, 'README.md'),
    `${String(manifest['description'])}\n\nFrom the package ${node.name}, without its headers.\n`,
  )
  pack(root, manifest)
}

/** Where the package is; fetched and unpacked if it is another system's. */
function packageFolder({ name, version }: NodePackage): string {
  const installed = join(REPOSITORY, 'node_modules', name)
  if (existsSync(installed)) return installed
  const folder = join(BUILD, 'fetched', name)
  mkdirSync(folder, { recursive: true })
  run('npm', ['pack', `${name}@${version}`], folder)
  run('tar', ['-xzf', `${name}-${version}.tgz`], folder)
  return join(folder, 'package')
}

rmSync(BUILD, { recursive: true, force: true })
run(join(REPOSITORY, 'node_modules/.bin/tsc'), ['-p', 'tools/tsconfig.build.json', '--outDir', TYPES], REPOSITORY)
const manifests = readManifests()
for (const product of PRODUCTS) writeProduct(product, manifests)
rmSync(TYPES, { recursive: true })
const { sums } = JSON.parse(readFileSync(join(REPOSITORY, 'cli/bin/node-sums.json'), 'utf8')) as {
  readonly sums: Readonly<Record<string, string>>
}
for (const node of packedNodes(manifests[0])) {
  const isHere = node.system === `${process.platform}-${process.arch}`
  if (isHere || values['all-systems']) writeNode(node, sums)
}
rmSync(join(BUILD, 'fetched'), { recursive: true, force: true })
