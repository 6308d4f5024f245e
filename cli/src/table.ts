/**
 * Every command there is. Parsing, `--help`, completion, the page of commands and the tests of the output read this
 * one table; a command is loaded only when it runs, so that the help never waits for the server's stack.
 */
import { BRIDGE_COMMANDS, BRIDGE_NOUNS } from './bridge-table.ts'
import type { CommandRow, OperandRow, OptionRow } from './command.ts'
import { CONFIG_FILE, PROGRESS } from './shared-rows.ts'

/** What the first word of a command with two is about. */
export const NOUNS: Readonly<Record<string, string>> = {
  config: 'The configuration: write one, check it, see what is in force, read it again.',
  key: 'Keys of signers. They stay on the machine of whoever signs; a node never reads them.',
  name: 'Names: propose what one means, approve it, commit it, see what it means and meant.',
  registry: 'The registry as a whole: who signs, whom to believe, and whether its log holds.',
  token: 'Capability tokens: who may do what, at which service, until when.',
  ...BRIDGE_NOUNS,
}

const ADDRESS: OperandRow = { name: 'ADDRESS', required: true, does: 'the address, b3: and 64 hexadecimal digits.' }

const TOKEN: OperandRow = {
  name: 'TOKEN',
  required: false,
  does: 'The token, or - to read it from standard input (default: the token of --token-file).',
}

const PROPOSAL: OperandRow = { name: 'PROPOSAL', required: true, does: 'the id that `cairn name propose` printed.' }

const NOTE: OptionRow = { name: 'note', value: 'TEXT', does: 'A note for whoever signs; it stays in the log.' }

const OUTPUT: OptionRow = {
  name: 'output',
  short: 'o',
  value: 'PATH',
  does: 'Where to write it, - for standard output (default: standard output, unless that is a terminal).',
}

/** How far somebody else's word goes. */
const TRUST: readonly OptionRow[] = [
  {
    name: 'trust',
    value: 'FILE',
    does: 'Whom to believe, as `cairn registry trust` writes it (default: what was remembered of this log).',
  },
  { name: 'max-age', value: 'TIME', does: 'Refuse a checkpoint older than this, such as 30m or 1d.' },
]

/** Ids as they look; these name nothing. */
const SAMPLE_PROPOSAL = 'p_000102030405060708090a0b0c0d0e0f'

const SERVICES = ['storage', 'index', 'registry', 'edge', 'interop', 'node'] as const

/** What narrows a token, new or old. */
const CAVEATS: readonly OptionRow[] = [
  { name: 'ttl', value: 'TIME', does: 'Good for this long, such as 1h or 30d (default: until it is revoked).' },
  { name: 'path', value: 'PREFIX', does: 'Only this path and those below it, such as /o.' },
  { name: 'method', value: 'METHOD', repeats: true, does: 'Only this method; may be repeated.' },
  { name: 'max-bytes', value: 'SIZE', does: 'Only bodies up to this size, such as 1MiB.' },
]

/** The object of no bytes; every node can be asked for it. */
const SAMPLE_ADDRESS = 'b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'start',
    summary: 'Start a node with its services and stay until it is stopped.',
    operands: [],
    options: [
      {
        name: 'port-base',
        value: 'N',
        does: 'First port; services listen on the ones after it, 0 for any (default 7070).',
      },
      CONFIG_FILE,
      { name: 'services', value: 'A,B', does: 'Only these services (default all).' },
      { name: 'amnesia', does: 'Keep everything in memory: nothing is written, nothing survives.' },
      { name: 'insecure-public', does: 'Allow addresses beyond this machine without TLS.' },
    ],
    examples: [
      { line: 'cairn start', does: 'everything, in ./.cairn, on ports 7070 to 7075' },
      { line: 'cairn start --data /srv/cairn --port-base 8070', does: 'elsewhere' },
      { line: 'cairn start --amnesia --port-base 0', does: 'for a test: any free ports, no files' },
    ],
    load: async () => (await import('./start.ts')).start,
  },
  {
    name: 'stop',
    summary: 'Stop the node: it finishes what it has accepted, and this waits until it is gone.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn stop --timeout 30s', does: 'wait up to half a minute' }],
    load: async () => (await import('./stop.ts')).stop,
  },
  {
    name: 'status',
    summary: 'What runs, where it listens, whether it is ready, and what it waits for if not.',
    operands: [],
    options: [],
    examples: [
      { line: 'cairn status', does: 'a screen' },
      { line: 'cairn status -q --json', does: 'for a program; the exit code is 0 only if everything is ready' },
    ],
    load: async () => (await import('./status.ts')).status,
  },
  {
    name: 'put',
    summary: 'Store files, directories or standard input. Standard output is the address of each.',
    operands: [{ name: 'PATH', required: true, repeats: true, does: 'a file, a directory, or - for standard input.' }],
    options: [PROGRESS],
    examples: [
      { line: 'cairn put ./photos', does: 'a directory; run again, it sends only what is missing' },
      { line: 'cairn put -q notes.txt', does: 'the address, and nothing else: HASH=$(cairn put -q notes.txt)' },
      { line: 'tar c . | cairn put -', does: 'whatever comes' },
    ],
    load: async () => (await import('./put.ts')).put,
  },
  {
    name: 'get',
    summary: 'Fetch a file or a directory. Every byte is verified before it is written.',
    operands: [ADDRESS],
    options: [OUTPUT, { name: 'force', does: 'Replace files that are there.' }, PROGRESS],
    examples: [
      { line: `cairn get ${SAMPLE_ADDRESS} -o copy`, does: 'a file, or a directory with all that is in it' },
      { line: `cairn get ${SAMPLE_ADDRESS} | tar t`, does: 'as a stream that ends with an error before a wrong byte' },
    ],
    load: async () => (await import('./get.ts')).get,
  },
  {
    name: 'ls',
    summary: 'The objects of the node in order of address, or the entries of a directory.',
    operands: [{ ...ADDRESS, required: false, does: 'A directory (default: all objects).' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many objects (default 1000).' },
      { name: 'after', value: 'ADDRESS', does: 'Begin after this address.' },
    ],
    examples: [{ line: 'cairn ls --limit 1000000', does: 'address, size and type, a line each' }],
    load: async () => (await import('./ls.ts')).ls,
  },
  {
    name: 'rm',
    summary: 'Drop an object. What a directory lists is not dropped with it.',
    operands: [ADDRESS],
    options: [],
    examples: [{ line: `cairn rm ${SAMPLE_ADDRESS}`, does: 'that one; an object that something holds stays' }],
    load: async () => (await import('./rm.ts')).rm,
  },
  {
    name: 'scrub',
    summary: 'Let the node read everything it stores and prove it, and say what it found in what it read.',
    operands: [],
    options: [{ name: 'wait', does: 'Until the round has ended.' }],
    examples: [{ line: 'cairn scrub --wait', does: 'the exit code is 4 if something is damaged' }],
    load: async () => (await import('./scrub.ts')).scrub,
  },
  {
    name: 'resolve',
    summary: 'What a name or an address means, who holds it, and the proof of it.',
    operands: [{ name: 'KEY', required: true, does: 'name: and a name, such as name:site@1.0, or an address.' }],
    options: [
      { name: 'fresh', does: 'Ask past what the index keeps.' },
      {
        name: 'proof',
        value: 'FILE',
        does: 'Write the proof of it, for `cairn verify-proof`.',
      },
    ],
    examples: [
      { line: 'cairn resolve name:site@1.0', does: 'address and providers' },
      { line: 'cairn resolve name:site@1.0 --proof site.proof', does: 'to show it to somebody who trusts nobody' },
    ],
    load: async () => (await import('./resolve.ts')).resolve,
  },
  {
    name: 'providers',
    summary: 'Who holds an address, best first: id, class, score, when last seen, where.',
    operands: [{ ...ADDRESS, does: 'the address, or its CID.' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many, up to 32 (default 5).' },
      { name: 'region', value: 'REGION', does: 'Prefer those who say they are there.' },
    ],
    examples: [{ line: `cairn providers ${SAMPLE_ADDRESS} --region eu-west`, does: 'the nearest first' }],
    load: async () => (await import('./providers.ts')).providers,
  },
  {
    name: 'peers',
    summary: 'Whom the node knows in the network, and whether it is connected to them.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn peers --json', does: 'for a program' }],
    load: async () => (await import('./peers.ts')).peers,
  },
  {
    name: 'key new',
    summary: 'A new key of a signer. Standard output is its public half, as a signer set lists it. Never overwrites.',
    operands: [
      {
        name: 'FILE',
        required: false,
        does: 'Where the private key goes (default cairn/signer.key in $XDG_CONFIG_HOME or ~/.config).',
      },
    ],
    options: [
      {
        name: 'algo',
        value: 'NAME',
        choices: ['ed25519', 'ml-dsa-44'],
        does: 'The kind of key: ed25519 (default), or ml-dsa-44, which a quantum computer does not break.',
      },
      { name: 'id', value: 'ID', does: 'What the signer is called (default: made from the key).' },
    ],
    examples: [{ line: 'cairn key new alice.key --id alice', does: 'a line for the signer set, and a file to keep' }],
    load: async () => (await import('./key.ts')).create,
  },
  {
    name: 'name propose',
    summary: 'Propose what a name is to mean. Standard output is the id of the proposal.',
    operands: [
      { name: 'NAME', required: true, does: 'the name, such as site@1.0.' },
      { ...ADDRESS, required: false, does: 'the address it is to mean; none with --remove.' },
    ],
    options: [
      { name: 'type', value: 'TYPE', does: 'The media type the signers vouch for, such as text/html.' },
      { name: 'remove', does: 'Propose that the name means nothing any more.' },
      {
        name: 'supersede',
        value: 'REASON',
        does: 'Overrule the newest version, and say why: it commits only while that is the newest.',
      },
      NOTE,
    ],
    examples: [
      { line: `cairn name propose site@1.0 ${SAMPLE_ADDRESS}`, does: 'what is to be signed, and who has to' },
      { line: 'cairn name propose site@1.0 --remove', does: 'to take a name back' },
    ],
    load: async () => (await import('./name.ts')).propose,
  },
  {
    name: 'name approve',
    summary: 'Sign a proposal. What is signed is computed here and shown before.',
    operands: [PROPOSAL],
    options: [
      {
        name: 'key',
        value: 'FILE',
        does: 'The key to sign with (default: registry/signer.key in --data, else the one `cairn key new` makes).',
      },
    ],
    examples: [{ line: `cairn name approve ${SAMPLE_PROPOSAL} --key alice.key`, does: 'as alice' }],
    load: async () => (await import('./name.ts')).approve,
  },
  {
    name: 'name commit',
    summary: 'Make an approved proposal the next version. Standard output is the version and its hash.',
    operands: [PROPOSAL],
    options: [],
    examples: [{ line: `cairn name commit ${SAMPLE_PROPOSAL}`, does: 'says who is missing if it is too early' }],
    load: async () => (await import('./name.ts')).commit,
  },
  {
    name: 'name show',
    summary: 'What a name means, now or at a version, and who approved it.',
    operands: [{ name: 'NAME', required: true, does: 'the name, such as site@1.0.' }],
    options: [
      { name: 'at', value: 'VERSION', does: 'What it meant at this version.' },
      {
        name: 'proof',
        value: 'FILE',
        does: 'Write the proof of it, for `cairn verify-proof`; with --at, of the version that said so.',
      },
    ],
    examples: [
      { line: 'cairn name show site@1.0 --proof site.proof', does: 'to show it to somebody who trusts nobody' },
    ],
    load: async () => (await import('./name-history.ts')).show,
  },
  {
    name: 'name log',
    summary: 'The versions of a name since it was last new, or of everything, newest first.',
    operands: [{ name: 'NAME', required: false, does: 'A name (default: every version).' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many versions (default 20).' },
      { name: 'before', value: 'VERSION', does: 'Only versions before this one.' },
    ],
    examples: [{ line: 'cairn name log site@1.0', does: 'what it meant, when, and who said so' }],
    load: async () => (await import('./name-history.ts')).log,
  },
  {
    name: 'registry signers',
    summary: 'Who signs, and how many must. Standard output is a file to edit for `cairn registry rotate`.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn registry signers', does: 'the set in force' }],
    load: async () => (await import('./registry.ts')).signers,
  },
  {
    name: 'registry rotate',
    summary: 'Propose another signer set. The signers in force approve it, and so does every new key.',
    operands: [{ name: 'FILE', required: true, does: 'the new set: {"m": 2, "signers": [{"id", "algo", "key"}, …]}.' }],
    options: [NOTE],
    examples: [
      {
        line: 'cairn registry rotate signers.json',
        does: 'then `cairn name approve` by each, and `cairn name commit`',
      },
    ],
    load: async () => (await import('./registry.ts')).rotate,
  },
  {
    name: 'registry adopt',
    summary: 'Let a registry that was restored from a backup write again, once it is shown that nothing is missing.',
    operands: [],
    options: [
      {
        name: 'checkpoint',
        value: 'FILE',
        does: 'The newest checkpoint of this log that anybody has seen, as /log/checkpoint gave it.',
      },
    ],
    examples: [
      { line: 'cairn registry adopt --checkpoint newest.txt', does: 'then stop and start the node once more' },
    ],
    load: async () => (await import('./registry.ts')).adopt,
  },
  {
    name: 'registry trust',
    summary: 'Write down whom to believe about this registry: its origin, its first version, its log keys.',
    operands: [],
    options: [{ ...OUTPUT, does: 'Where to write it (default: standard output).' }],
    examples: [{ line: 'cairn registry trust -o trust.json', does: 'from a node you trust, over a way you trust' }],
    load: async () => (await import('./registry.ts')).trust,
  },
  {
    name: 'registry verify',
    summary: 'Read a whole log, compute everything in it again, and say exactly what was checked.',
    operands: [{ name: 'URL', required: false, does: 'The registry (default: the one of the node).' }],
    options: TRUST,
    examples: [
      { line: 'cairn registry verify --trust trust.json', does: 'the first time; what was seen is remembered' },
      { line: 'cairn registry verify https://registry.example.org', does: 'later: nothing may have been taken back' },
    ],
    load: async () => (await import('./registry-verify.ts')).verify,
  },
  {
    name: 'verify-proof',
    summary: 'What a proof file is worth, line by line. Asks nobody.',
    operands: [{ name: 'FILE', required: true, does: 'the proof, as `cairn name show --proof` writes it.' }],
    options: TRUST,
    examples: [
      { line: 'cairn verify-proof site.proof --trust trust.json', does: 'the exit code is 0 only if verified' },
    ],
    load: async () => (await import('./verify-proof.ts')).verify,
  },
  ...BRIDGE_COMMANDS,
  {
    name: 'config init',
    summary: 'Write a configuration with every key, its default and what it does. Never overwrites.',
    operands: [{ name: 'FILE', required: false, does: 'The file to write (default cairn.toml).' }],
    options: [],
    examples: [{ line: 'cairn config init', does: 'writes ./cairn.toml' }],
    load: async () => (await import('./config.ts')).init,
  },
  {
    name: 'config validate',
    summary: 'Check a configuration and the environment: each problem with its place and what to do.',
    operands: [{ name: 'FILE', required: false, does: 'The file to check (default cairn.toml).' }],
    options: [],
    examples: [{ line: 'cairn config validate next.toml', does: 'before it goes live' }],
    load: async () => (await import('./config.ts')).validate,
  },
  {
    name: 'config print',
    summary: 'Every key with the value in force: of the running node, else of the file and the environment.',
    operands: [],
    options: [{ name: 'origin', does: 'Where each value is from, and what a change of it needs.' }, CONFIG_FILE],
    examples: [{ line: 'cairn config print --origin', does: 'who set what' }],
    load: async () => (await import('./config.ts')).print,
  },
  {
    name: 'config reload',
    summary: 'Let the node read its configuration again; it takes all of it, or keeps the old one and says why.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn config reload', does: 'the same as SIGHUP, with an answer' }],
    load: async () => (await import('./config.ts')).reload,
  },
  {
    name: 'token mint',
    summary: 'A new token for one service. Standard output is the token.',
    operands: [],
    options: [
      { name: 'for', value: 'SERVICE', choices: SERVICES, does: 'The service it is for.' },
      { name: 'scope', value: 'SCOPE', repeats: true, does: 'What it allows, such as storage:write; may be repeated.' },
      ...CAVEATS,
    ],
    examples: [
      { line: 'cairn token mint --for storage --scope storage:write --ttl 1h', does: 'an hour of uploads' },
      {
        line: 'cairn token mint --for storage --scope storage:write --path /o --method PUT --max-bytes 1MiB',
        does: 'small objects only',
      },
    ],
    load: async () => (await import('./token.ts')).mint,
  },
  {
    name: 'token attenuate',
    summary: 'The token, allowed less. Needs no node and no key; nobody can undo it.',
    operands: [TOKEN],
    options: [
      { name: 'for', value: 'SERVICE', choices: SERVICES, does: 'Of a bundle, only the token for this service.' },
      { name: 'scope', value: 'SCOPE', repeats: true, does: 'Only this scope; may be repeated.' },
      ...CAVEATS,
    ],
    examples: [
      {
        line: 'cairn token attenuate --for storage --scope storage:write --ttl 10m',
        does: 'the admin token, as little of it as a script needs',
      },
    ],
    load: async () => (await import('./token.ts')).attenuate,
  },
  {
    name: 'token inspect',
    summary: 'What a token allows, for whom and until when. Works offline and shows no secret.',
    operands: [TOKEN],
    options: [],
    examples: [{ line: 'cairn token inspect -', does: 'reads the token from standard input' }],
    load: async () => (await import('./token.ts')).inspect,
  },
  {
    name: 'token rotate',
    summary: 'New root key and new admin token; tokens of the former root are good for a day more.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn token rotate', does: 'once a year, or when in doubt' }],
    load: async () => (await import('./token.ts')).rotate,
  },
  {
    name: 'token revoke',
    summary: 'Refuse a token from now on, at every service of the node.',
    operands: [
      { name: 'TID', required: true, does: 'the id that `cairn token inspect` shows, 32 hexadecimal digits.' },
    ],
    options: [],
    examples: [{ line: 'cairn token revoke 000102030405060708090a0b0c0d0e0f', does: 'that one' }],
    load: async () => (await import('./token.ts')).revoke,
  },
  {
    name: 'completion',
    summary: 'A script that completes cairn commands in a shell.',
    operands: [{ name: 'SHELL', required: true, choices: ['bash', 'zsh', 'fish'], does: 'bash, zsh or fish.' }],
    options: [],
    examples: [{ line: 'cairn completion bash', does: 'source it: . <(cairn completion bash)' }],
    load: async () => (await import('./completion.ts')).completion,
  },
]
