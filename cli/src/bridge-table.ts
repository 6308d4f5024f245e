/** The commands of interop and of edge packs; `table.ts` has all of them. */
import type { CommandRow, OperandRow, OptionRow } from './command.ts'
import { PROGRESS } from './shared-options.ts'

export const BRIDGE_NOUNS: Readonly<Record<string, string>> = {
  audit: 'The audit log of interop: what was accepted and refused, and whether the log is intact.',
  hook: 'Webhooks: admit a provider, list providers, follow what arrives, send a test.',
  interop: 'The interop service: go on after its journal lost records.',
  mailbox: 'Messages made from webhooks: lease, acknowledge, list dead letters, replay.',
  pack: 'Map tiles in one file, served by the edge.',
}

const TOPIC: OperandRow = { name: 'TOPIC', required: true, does: 'the topic, as a rule names it, such as deploys.' }
const RECEIPT: OperandRow = { name: 'RECEIPT', required: true, does: 'the receipt that `cairn mailbox lease` printed.' }
const PACK_NAME: OperandRow = { name: 'NAME', required: true, does: 'the name of the pack, as in /edge/assets/p/NAME.' }
const LIMIT: OptionRow = { name: 'limit', value: 'N', does: 'At most this many (default 100).' }
const CURSOR: OptionRow = { name: 'cursor', value: 'CURSOR', does: 'Go on where an earlier list ended.' }
const PINNED: OptionRow = { name: 'b3', value: 'ADDRESS', does: 'Refuse a file with any other address.' }
const PROVIDER: OperandRow = {
  name: 'PROVIDER',
  required: true,
  choices: ['github', 'slack', 'stripe', 'standard', 'generic'],
  does: 'the sender: github, slack, stripe, standard (Standard Webhooks) or generic.',
}

/** A receipt and a message as they look; these name nothing. */
const SAMPLE_MESSAGE = '00112233445566778899aabbccddeeff'
const SAMPLE_RECEIPT = `${SAMPLE_MESSAGE}:1:0f1e2d3c4b5a69788796a5b4c3d2e1f0`

const HOOKS: readonly CommandRow[] = [
  {
    name: 'hook add',
    summary: 'Print the configuration that admits a provider, and store its secret.',
    operands: [PROVIDER],
    options: [
      { name: 'generate', does: 'Make a secret, in a file that only you can read. Never overwrites.' },
      {
        name: 'secret-file',
        value: 'FILE',
        does: 'Where the secret is, or goes (default cairn/hooks/PROVIDER.secret in $XDG_CONFIG_HOME or ~/.config).',
      },
      { name: 'env', value: 'NAME', does: 'The secret is in this environment variable of the node instead.' },
    ],
    examples: [
      { line: 'cairn hook add github --generate', does: 'lines for cairn.toml, and a secret to give to GitHub' },
      { line: 'cairn hook add slack --env SLACK_SIGNING_SECRET', does: 'with the secret that Slack made' },
    ],
    load: async () => (await import('./hook.ts')).add,
  },
  {
    name: 'hook ls',
    summary: 'List providers: whether enabled, when their secrets expire, what they sent last. Shows no secret.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn hook ls', does: 'before a secret expires' }],
    load: async () => (await import('./hook.ts')).ls,
  },
  {
    name: 'hook tail',
    summary: 'Follow webhooks as they arrive: accepted, refused and why.',
    operands: [],
    options: [{ ...LIMIT, does: 'End after this many.' }],
    examples: [
      { line: 'cairn hook tail', does: 'while you set up a sender' },
      { line: 'cairn hook tail --json --limit 1', does: 'the next one, for a program' },
    ],
    load: async () => (await import('./hook.ts')).tail,
  },
  {
    name: 'hook test',
    summary: 'Send a signed test webhook to the node and show what became of it.',
    operands: [
      PROVIDER,
      { name: 'FILE', required: false, does: 'The body to send (default: one that says it is a test).' },
    ],
    options: [{ name: 'event', value: 'NAME', does: 'The event it is about, for rules (default cairn.test).' }],
    examples: [
      { line: 'cairn hook test github', does: 'triggers only rules that match every event' },
      { line: 'cairn hook test github push.json --event push', does: 'a recorded payload, as GitHub would send it' },
    ],
    load: async () => (await import('./hook-test.ts')).test,
  },
  {
    name: 'hook replay',
    summary: 'Retry one webhook from the dead letters of a topic, under its id.',
    operands: [
      { ...TOPIC, does: 'the topic; @propose and @forward are those of rules that the node applies itself.' },
      { name: 'ID', required: true, does: 'the message, as `cairn mailbox dead` lists it.' },
    ],
    options: [],
    examples: [{ line: `cairn hook replay @forward ${SAMPLE_MESSAGE}`, does: 'once the other side is back' }],
    load: async () => (await import('./hook.ts')).replay,
  },
]

const MAILBOXES: readonly CommandRow[] = [
  {
    name: 'mailbox lease',
    summary: 'Lease the next message and print its receipt and body. It returns unless it is acknowledged.',
    operands: [TOPIC],
    options: [{ name: 'wait-for', value: 'TIME', does: 'Wait up to this long for one, up to 20s.' }],
    examples: [{ line: 'cairn mailbox lease deploys --wait-for 20s', does: 'the exit code is 3 if there is none' }],
    load: async () => (await import('./mailbox.ts')).lease,
  },
  {
    name: 'mailbox ack',
    summary: 'Acknowledge a message, durably.',
    operands: [TOPIC, RECEIPT],
    options: [],
    examples: [
      { line: `cairn mailbox ack deploys ${SAMPLE_RECEIPT}`, does: 'the exit code is 8 if the lease is over' },
    ],
    load: async () => (await import('./mailbox.ts')).ack,
  },
  {
    name: 'mailbox nack',
    summary: 'Return a message to the queue immediately.',
    operands: [TOPIC, RECEIPT],
    options: [],
    examples: [{ line: `cairn mailbox nack deploys ${SAMPLE_RECEIPT}`, does: 'instead of letting the lease run out' }],
    load: async () => (await import('./mailbox.ts')).nack,
  },
  {
    name: 'mailbox peek',
    summary: 'List the messages of a topic in order, without leasing any.',
    operands: [TOPIC],
    options: [LIMIT, CURSOR],
    examples: [{ line: 'cairn mailbox peek deploys', does: 'id, state, deliveries, time and body' }],
    load: async () => (await import('./mailbox.ts')).peek,
  },
  {
    name: 'mailbox dead',
    summary: 'List dead letters of a topic (delivery limit reached).',
    operands: [TOPIC],
    options: [LIMIT, CURSOR],
    examples: [{ line: 'cairn mailbox dead @forward', does: 'what could not be forwarded' }],
    load: async () => (await import('./mailbox.ts')).dead,
  },
  {
    name: 'mailbox replay',
    summary: 'Return dead letters to the queue, all of a topic or those named. Each keeps its id.',
    operands: [TOPIC, { name: 'ID', required: false, repeats: true, does: 'A dead letter (default: all of them).' }],
    options: [],
    examples: [{ line: 'cairn mailbox replay deploys', does: 'once the reason is gone' }],
    load: async () => (await import('./mailbox.ts')).replay,
  },
]

const AUDITS: readonly CommandRow[] = [
  {
    name: 'audit',
    summary: 'List what interop accepted and refused: number, time, decision, who, what, why, address.',
    operands: [],
    options: [
      LIMIT,
      { ...CURSOR, does: 'From this line on (default: the newest).' },
      { name: 'follow', does: 'Go on with lines as they come, until it is interrupted.' },
    ],
    examples: [
      { line: 'cairn audit --limit 20', does: 'the newest lines' },
      { line: 'cairn audit --cursor 1 --limit 1000000', does: 'from the beginning' },
    ],
    load: async () => (await import('./audit.ts')).audit,
  },
  {
    name: 'audit verify',
    summary: 'Verify the audit chain against every head that the registry has of it.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn audit verify', does: 'the exit code is 4 if a line was edited, dropped or moved' }],
    load: async () => (await import('./audit.ts')).verify,
  },
]

const PACKS: readonly CommandRow[] = [
  {
    name: 'pack add',
    summary: 'Serve a PMTiles or MBTiles file under a name, and print its address.',
    operands: [PACK_NAME, { name: 'FILE', required: true, does: 'the file, on the machine of the node.' }],
    options: [PINNED],
    examples: [{ line: 'cairn pack add world ./world.pmtiles', does: 'at /edge/assets/p/world, after restarts too' }],
    load: async () => (await import('./pack.ts')).add,
  },
  {
    name: 'pack ls',
    summary: 'List packs: whether served, who added it, address, tiles, file.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn pack ls', does: 'those of the configuration and those that were added' }],
    load: async () => (await import('./pack.ts')).ls,
  },
  {
    name: 'pack rm',
    summary: 'Stop serving an added pack. Its file stays.',
    operands: [PACK_NAME],
    options: [],
    examples: [{ line: 'cairn pack rm world', does: 'requests under way still end with it' }],
    load: async () => (await import('./pack.ts')).rm,
  },
  {
    name: 'pack verify',
    summary: 'Verify a pack file offline: format, zooms, tile count, address.',
    operands: [{ name: 'FILE', required: true, does: 'the file.' }],
    options: [PINNED, PROGRESS],
    examples: [{ line: 'cairn pack verify world.pmtiles', does: 'the exit code is 4 if it is damaged' }],
    load: async () => (await import('./pack.ts')).verify,
  },
]

const INTEROP: readonly CommandRow[] = [
  {
    name: 'interop adopt',
    summary: 'Accept the loss in a damaged journal of interop, with a line in the audit, and go on.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn interop adopt', does: 'when there is no backup that still has what is missing' }],
    load: async () => (await import('./interop.ts')).adopt,
  },
]

export const BRIDGE_COMMANDS: readonly CommandRow[] = [...PACKS, ...HOOKS, ...MAILBOXES, ...AUDITS, ...INTEROP]
