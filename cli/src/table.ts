/**
 * Every command there is. Parsing, `--help`, completion, the page of commands and the tests of the output read this
 * one table; a command is loaded only when it runs, so that the help never waits for the server's stack.
 */
import { BRIDGE_COMMANDS, BRIDGE_NOUNS } from './bridge-table.ts'
import type { CommandRow, OperandRow, OptionRow } from './command.ts'
import { REGISTRY_COMMANDS, REGISTRY_NOUNS } from './registry-table.ts'
import { ADDRESS, CONFIG_FILE, LINKS, OUTPUT, PROGRESS, SAMPLE_ADDRESS } from './shared-options.ts'

/** What the first word of a command with two is about. */
export const NOUNS: Readonly<Record<string, string>> = {
  backup: 'Copy what cannot be rebuilt, and make a node from the copy.',
  config: 'Write, check, print and reload the configuration.',
  token: 'Capability tokens: create, restrict, inspect, rotate and revoke them.',
  ...REGISTRY_NOUNS,
  ...BRIDGE_NOUNS,
}

const TOKEN: OperandRow = {
  name: 'TOKEN',
  required: false,
  does: 'The token, or - to read it from standard input (default: the token of --token-file).',
}

const PASSPHRASE = { name: 'passphrase-file', value: 'FILE' } as const

const SERVICES = ['storage', 'index', 'registry', 'edge', 'interop', 'node'] as const

/** What narrows a token, new or old. */
const CAVEATS: readonly OptionRow[] = [
  { name: 'ttl', value: 'TIME', does: 'Good for this long, such as 1h or 30d (default: until it is revoked).' },
  { name: 'path', value: 'PREFIX', does: 'Only this path and those below it, such as /o.' },
  { name: 'method', value: 'METHOD', repeats: true, does: 'Only this method; may be repeated.' },
  { name: 'max-bytes', value: 'SIZE', does: 'Only bodies up to this size, such as 1MiB.' },
]

export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'start',
    summary: 'Start a node with its services and run until it is stopped.',
    operands: [],
    options: [
      {
        name: 'port-base',
        value: 'N',
        does: 'First port, 0 for any (default 7070); services have the ones after it, at the hosts the configuration names.',
      },
      CONFIG_FILE,
      {
        name: 'services',
        value: 'A,B',
        does: 'Only these services; other processes may run the others on the same --data (default all).',
      },
      { name: 'amnesia', does: 'Keep everything in memory: nothing is written, nothing survives.' },
      { name: 'insecure-public', does: 'Allow addresses beyond this machine without TLS.' },
    ],
    examples: [
      { line: 'cairn start', does: 'everything, in ./.cairn, on ports 7070 to 7075' },
      { line: 'cairn start --data /srv/cairn --port-base 8070', does: 'elsewhere' },
      { line: 'cairn start --services storage', does: 'one process for each service: the same command for the others' },
      { line: 'cairn start --amnesia --port-base 0', does: 'for a test: any free ports, no files' },
    ],
    load: async () => (await import('./start.ts')).start,
  },
  {
    name: 'stop',
    summary: 'Stop the node and wait until it has finished the work it accepted.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn stop --timeout 30s', does: 'wait up to half a minute' }],
    load: async () => (await import('./node.ts')).stop,
  },
  {
    name: 'status',
    summary: 'Show what runs, where it listens, whether it is ready, and why not.',
    operands: [],
    options: [],
    examples: [
      { line: 'cairn status', does: 'a screen' },
      { line: 'cairn status -q --json', does: 'for a program; the exit code is 0 only if everything is ready' },
    ],
    load: async () => (await import('./node.ts')).status,
  },
  {
    name: 'open',
    summary: 'Open the console in the browser, signed in.',
    operands: [],
    options: [{ name: 'print', does: 'Print the address that signs in, once, instead of opening it.' }],
    examples: [
      { line: 'cairn open', does: 'in the browser of this machine' },
      { line: 'cairn open --print', does: 'the address, good for ten minutes, such as for an SSH tunnel' },
    ],
    load: async () => (await import('./open.ts')).open,
  },
  {
    name: 'doctor',
    summary: 'Check whether a node can run well here, with a remedy for each problem. Needs no running node.',
    operands: [],
    options: [CONFIG_FILE],
    examples: [
      { line: 'cairn doctor', does: 'runtime, drive, ports, clock, configuration, peers, backup' },
      { line: 'cairn doctor --json', does: 'for a program; the exit code is 0 unless something stands in the way' },
    ],
    load: async () => (await import('./doctor.ts')).doctor,
  },
  {
    name: 'put',
    summary: 'Store files, directories or standard input, and print the address of each.',
    operands: [{ name: 'PATH', required: true, repeats: true, does: 'a file, a directory, or - for standard input.' }],
    options: [LINKS, PROGRESS],
    examples: [
      { line: 'cairn put ./photos', does: 'a directory; run again, it sends only what is missing' },
      { line: 'cairn put -q notes.txt', does: 'the address, and nothing else: HASH=$(cairn put -q notes.txt)' },
      { line: 'tar c . | cairn put -', does: 'standard input, of any length' },
    ],
    load: async () => (await import('./put.ts')).put,
  },
  {
    name: 'get',
    summary: 'Fetch a file or a directory. Every byte is verified before it is written.',
    operands: [{ ...ADDRESS, does: 'the address, or a name such as site@1.0.' }],
    options: [OUTPUT, { name: 'force', does: 'Replace files that are there.' }, PROGRESS],
    examples: [
      { line: `cairn get ${SAMPLE_ADDRESS} -o copy`, does: 'a file, or a directory with all that is in it' },
      { line: `cairn get ${SAMPLE_ADDRESS} | tar t`, does: 'as a stream that ends with an error before a wrong byte' },
    ],
    load: async () => (await import('./get.ts')).get,
  },
  {
    name: 'ls',
    summary: 'List the objects of the node by address, or the entries of a directory.',
    operands: [{ ...ADDRESS, required: false, does: 'A directory, by address or name (default: all objects).' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many objects (default 1000).' },
      { name: 'after', value: 'ADDRESS', does: 'Begin after this address.' },
    ],
    examples: [{ line: 'cairn ls --limit 1000000', does: 'address, size and type, a line each' }],
    load: async () => (await import('./objects.ts')).ls,
  },
  {
    name: 'diff',
    summary: 'List the files that differ between two directories.',
    operands: [
      { ...ADDRESS, name: 'BEFORE', does: 'a directory or file, by address or name.' },
      { ...ADDRESS, name: 'AFTER', does: 'another.' },
    ],
    options: [],
    examples: [{ line: 'cairn diff site@1.0 site@1.1', does: '+ added, - removed, ~ changed' }],
    load: async () => (await import('./diff.ts')).diff,
  },
  {
    name: 'rm',
    summary: 'Remove an object. What a directory lists is not removed with it.',
    operands: [ADDRESS],
    options: [],
    examples: [{ line: `cairn rm ${SAMPLE_ADDRESS}`, does: 'that one; an object that something holds stays' }],
    load: async () => (await import('./objects.ts')).rm,
  },
  {
    name: 'hash',
    summary: 'Print the address that files and directories have. Needs no node.',
    operands: [{ name: 'PATH', required: true, repeats: true, does: 'a file, a directory, or - for standard input.' }],
    options: [LINKS],
    examples: [{ line: 'cairn hash ./site', does: 'what cairn put would print' }],
    load: async () => (await import('./hash.ts')).hash,
  },
  {
    name: 'scrub',
    summary: 'Verify every stored object and report corruption.',
    operands: [],
    options: [
      { name: 'wait', does: 'Until the round has ended.' },
      { name: 'give-up', value: 'SEGMENT', does: 'Give up a damaged segment; without --yes only say what is lost.' },
      { name: 'drive', value: 'ID', does: 'On this drive, if the node has several.' },
      { name: 'yes', does: 'Agree to lose what --give-up says is lost.' },
    ],
    examples: [
      { line: 'cairn scrub --wait', does: 'the exit code is 4 if something is damaged, 9 if something was not read' },
      { line: 'cairn scrub --give-up 7', does: 'what is lost with segment 7, which holds back garbage collection' },
    ],
    load: async () => (await import('./maintenance.ts')).scrub,
  },
  {
    name: 'repair',
    summary: 'Make missing copies, and report how many copies every object has.',
    operands: [{ name: 'ADDRESS', required: false, does: 'Of this object only, read again where it lies.' }],
    options: [{ name: 'wait', does: 'Until nothing waits to be repaired.' }],
    examples: [
      { line: 'cairn repair --wait', does: 'the exit code is 6 if objects still have fewer copies than wanted' },
    ],
    load: async () => (await import('./maintenance.ts')).repair,
  },
  {
    name: 'resolve',
    summary: 'Show what a name stands for, who holds an address, and the proof.',
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
      { line: 'cairn resolve name:site@1.0 --proof site.proof', does: 'for a reader who trusts no server' },
    ],
    load: async () => (await import('./resolve.ts')).resolve,
  },
  {
    name: 'providers',
    summary: 'List who holds an address, best first: id, class, score, when last seen, where.',
    operands: [{ ...ADDRESS, does: 'the address, or its CID.' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many, up to 32 (default 5).' },
      { name: 'region', value: 'REGION', does: 'Prefer those who say they are there.' },
    ],
    examples: [{ line: `cairn providers ${SAMPLE_ADDRESS} --region eu-west`, does: 'the nearest first' }],
    load: async () => (await import('./resolve.ts')).providers,
  },
  {
    name: 'peers',
    summary: 'List the nodes this one knows, for copies and for lookups, and whether they answer.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn peers --json', does: 'for a program' }],
    load: async () => (await import('./peers.ts')).peers,
  },
  ...REGISTRY_COMMANDS,
  ...BRIDGE_COMMANDS,
  {
    name: 'backup create',
    summary: 'Copy the data of a running node, consistently, and print the path of the backup.',
    operands: [{ name: 'DIR', required: true, does: 'a new directory; it gets its name when all of it is durable.' }],
    options: [
      { ...PASSPHRASE, does: 'Seal the private keys into it, with the passphrase in this file.' },
      CONFIG_FILE,
      PROGRESS,
    ],
    examples: [
      { line: 'cairn backup create /mnt/backup/monday', does: 'everything but private keys' },
      { line: 'cairn backup create /mnt/backup/keys --passphrase-file pass.txt', does: 'the keys too, sealed' },
    ],
    load: async () => (await import('./backup.ts')).create,
  },
  {
    name: 'backup restore',
    summary: 'Make a data directory from a backup. Every record and named object is verified first.',
    operands: [{ name: 'BACKUP', required: true, does: 'the directory that `cairn backup create` made.' }],
    options: [
      { ...PASSPHRASE, does: 'Open its private keys with the passphrase in this file; new keys otherwise.' },
      PROGRESS,
    ],
    examples: [
      {
        line: 'cairn backup restore /mnt/backup/monday --data /srv/cairn',
        does: 'into a new directory; its registry only reads until `cairn registry adopt`',
      },
    ],
    load: async () => (await import('./backup.ts')).restore,
  },
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
    summary: 'Check a configuration and the environment as a start would, with a remedy for each problem.',
    operands: [{ name: 'FILE', required: false, does: 'The file to check (default cairn.toml).' }],
    options: [{ name: 'insecure-public', does: 'As for `cairn start --insecure-public`.' }],
    examples: [{ line: 'cairn config validate next.toml', does: 'before it goes live' }],
    load: async () => (await import('./config.ts')).validate,
  },
  {
    name: 'config print',
    summary: 'Print every key with the value in force: of the running node, else of file and environment.',
    operands: [],
    options: [{ name: 'origin', does: 'Where each value is from, and what a change of it needs.' }, CONFIG_FILE],
    examples: [{ line: 'cairn config print --origin', does: 'each value with its origin' }],
    load: async () => (await import('./config.ts')).print,
  },
  {
    name: 'config reload',
    summary: 'Reload the configuration of the node: all of it, or none and the reason.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn config reload', does: 'the same as SIGHUP, with an answer' }],
    load: async () => (await import('./config.ts')).reload,
  },
  {
    name: 'token mint',
    summary: 'Create a token for one service and print it.',
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
    summary: 'Restrict a token (offline, irreversible).',
    operands: [TOKEN],
    options: [
      { name: 'for', value: 'SERVICE', choices: SERVICES, does: 'Of a bundle, only the token for this service.' },
      { name: 'scope', value: 'SCOPE', repeats: true, does: 'Only this scope; may be repeated.' },
      ...CAVEATS,
    ],
    examples: [
      {
        line: 'cairn token attenuate --for storage --scope storage:write --ttl 10m',
        does: 'the admin token, restricted to what a script needs',
      },
    ],
    load: async () => (await import('./token.ts')).attenuate,
  },
  {
    name: 'token inspect',
    summary: 'Show what a token allows, for which service and until when. Works offline, shows no secret.',
    operands: [TOKEN],
    options: [],
    examples: [{ line: 'cairn token inspect -', does: 'reads the token from standard input' }],
    load: async () => (await import('./token.ts')).inspect,
  },
  {
    name: 'token rotate',
    summary: 'Create a new root key and admin token. Tokens of the old root stay valid for a day.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn token rotate', does: 'once a year, or when in doubt' }],
    load: async () => (await import('./token.ts')).rotate,
  },
  {
    name: 'token reset',
    summary: 'Replace every token of a stopped node, when its key files were lost.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn token reset --data DIR', does: 'when a start says that keys/revoked-tokens is missing' }],
    load: async () => (await import('./token-reset.ts')).reset,
  },
  {
    name: 'token revoke',
    summary: 'Revoke a token at every service of the node.',
    operands: [
      { name: 'TID', required: true, does: 'the id that `cairn token inspect` shows, 32 hexadecimal digits.' },
    ],
    options: [],
    examples: [{ line: 'cairn token revoke 000102030405060708090a0b0c0d0e0f', does: 'that one' }],
    load: async () => (await import('./token.ts')).revoke,
  },
  {
    name: 'bench',
    summary: 'Measure how fast this node stores and returns objects. What it stored is removed again.',
    operands: [],
    options: [
      { name: 'size', value: 'SIZE', does: 'Of each object, such as 1KiB (default 64KiB).' },
      { name: 'time', value: 'TIME', does: 'Store this long, then read as long (default 3s).' },
    ],
    examples: [{ line: 'cairn bench --size 1MiB', does: 'objects and bytes per second, and how long one takes' }],
    load: async () => (await import('./bench.ts')).bench,
  },
  {
    name: 'completion',
    summary: 'Print a script that completes cairn commands in a shell.',
    operands: [{ name: 'SHELL', required: true, choices: ['bash', 'zsh', 'fish'], does: 'bash, zsh or fish.' }],
    options: [],
    examples: [{ line: 'cairn completion bash', does: 'source it: . <(cairn completion bash)' }],
    load: async () => (await import('./completion.ts')).completion,
  },
]
