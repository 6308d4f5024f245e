/** A command line of every command that asks a node, as somebody would type it. */
import { COMMANDS } from '../src/table.ts'

const ADDRESS = 'b3:af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262'
const PROPOSAL = 'p_000102030405060708090a0b0c0d0e0f'

/** These ask no node, or are the node. */
const NODELESS: readonly string[] = [
  'start',
  'backup restore',
  'config init',
  'config validate',
  'token attenuate',
  'token inspect',
  'token reset',
  'key new',
  'verify-proof',
  'verify',
  'pack verify',
  'hook add',
  'completion',
  'hash',
]

/** `path` gives a file that is there, or, for a name it does not know, one that is not. */
export function commandLines(path: (name: string) => string): ReadonlyMap<string, readonly string[]> {
  const operands: Readonly<Record<string, readonly string[]>> = {
    stop: [],
    status: [],
    open: ['--print'],
    doctor: [],
    put: [path('file')],
    publish: [path('file'), 'site@1.0'],
    get: [ADDRESS, '-o', path('copy'), '--force'],
    ls: [],
    diff: [ADDRESS, `b3:${'0'.repeat(64)}`],
    rm: [ADDRESS],
    scrub: [],
    repair: [],
    resolve: ['name:site@1.0'],
    providers: [ADDRESS],
    peers: [],
    'name propose': ['site@1.0', ADDRESS],
    'name approve': [PROPOSAL, '--key', path('alice.key')],
    'name commit': [PROPOSAL],
    'name pending': [],
    'name review': [PROPOSAL],
    'name show': ['site@1.0'],
    'name log': [],
    'registry signers': [],
    'registry rotate': [path('signers.json')],
    'registry adopt': ['--checkpoint', path('file')],
    'registry trust': [],
    'registry verify': [],
    'backup create': [path('backup')],
    'config print': [],
    'config reload': [],
    'token mint': ['--for', 'storage', '--scope', 'storage:write', '--ttl', '1h'],
    'token rotate': [],
    'token revoke': ['000102030405060708090a0b0c0d0e0f'],
    'hook ls': [],
    'hook tail': ['--limit', '1'],
    'hook test': ['github'],
    'hook replay': ['deploys', 'x'],
    'mailbox lease': ['deploys'],
    'mailbox ack': ['deploys', 'x:1:y'],
    'mailbox nack': ['deploys', 'x:1:y'],
    'mailbox peek': ['deploys'],
    'mailbox dead': ['deploys'],
    'mailbox replay': ['deploys'],
    'interop adopt': [],
    audit: [],
    'audit verify': [],
    'pack add': ['world', path('file')],
    'pack ls': [],
    'pack rm': ['world'],
    bench: ['--size', '1KiB', '--time', '10ms'],
  }
  return new Map(
    COMMANDS.filter(({ name }) => !NODELESS.includes(name)).map(({ name }) => {
      const rest = operands[name]
      if (rest === undefined) throw new Error(`Say how cairn ${name} is typed, or that it asks no node.`)
      return [name, [...name.split(' '), ...rest]]
    }),
  )
}
