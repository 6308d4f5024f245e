/**
 * Every command there is. Parsing, `--help`, completion, the page of commands and the tests of the output read this
 * one table; a command is loaded only when it runs, so that the help never waits for the server's stack.
 */
import type { CommandRow, OperandRow, OptionRow } from './command.ts'

/** What the first word of a command with two is about. */
export const NOUNS: Readonly<Record<string, string>> = {
  config: 'The configuration: write one, check it, see what is in force, read it again.',
  token: 'Capability tokens: who may do what, at which service, until when.',
}

const CONFIG_FILE: OptionRow = {
  name: 'config',
  value: 'FILE',
  does: 'The configuration (default ./cairn.toml, if there is one).',
}

const ADDRESS: OperandRow = { name: 'ADDRESS', required: true, does: 'the address, b3: and 64 hexadecimal digits.' }

const PROGRESS: OptionRow = {
  name: 'progress',
  value: 'FORM',
  choices: ['json'],
  does: 'How far it is, as JSON lines on standard error.',
}

const TOKEN: OperandRow = {
  name: 'TOKEN',
  required: false,
  does: 'The token, or - to read it from standard input (default: the token of --token-file).',
}

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
    options: [
      {
        name: 'output',
        short: 'o',
        value: 'PATH',
        does: 'Where to write it, - for standard output (default: standard output, unless that is a terminal).',
      },
      { name: 'force', does: 'Replace files that are there.' },
      PROGRESS,
    ],
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
