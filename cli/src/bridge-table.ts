/** The commands of interop and of edge packs; `table.ts` has all of them. */
import type { CommandRow, OperandRow, OptionRow } from './command.ts'
import { PROGRESS } from './shared-rows.ts'

export const BRIDGE_NOUNS: Readonly<Record<string, string>> = {
  audit: 'The audit of interop: what was let in, what was turned away, and whether the record holds.',
  hook: 'Webhooks: let a provider in, see who is, watch what comes, try it.',
  interop: 'The bridge service as a whole: go on after its journal lost something.',
  mailbox: 'Messages that webhooks became: take one, say that it is done, see what failed, try it again.',
  pack: 'Map tiles in one file, served by the edge.',
}

const TOPIC: OperandRow = { name: 'TOPIC', required: true, does: 'the topic, as a rule names it, such as deploys.' }
const RECEIPT: OperandRow = { name: 'RECEIPT', required: true, does: 'the receipt that `cairn mailbox lease` printed.' }
const PACK_NAME: OperandRow = { name: 'NAME', required: true, does: 'the name of the pack, as in /edge/assets/p/NAME.' }
const LIMIT: OptionRow = { name: 'limit', value: 'N', does: 'At most this many (default 100).' }
const CURSOR: OptionRow = { name: 'cursor', value: 'CURSOR', does: 'Go on where an earlier list ended.' }
const PINNED: OptionRow = { name: 'b3', value: 'ADDRESS', does: 'It has to be this file; another is refused.' }
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
    summary: 'The lines of the configuration that let a provider in, and where its secret goes.',
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
    load: async () => (await import('./hook-add.ts')).add,
  },
  {
    name: 'hook ls',
    summary: 'Every provider: whether it is let in, until when its secrets count, what it sent last. Shows no secret.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn hook ls', does: 'before a secret ends' }],
    load: async () => (await import('./hook.ts')).ls,
  },
  {
    name: 'hook tail',
    summary: 'Webhooks as they come: accepted, refused and why. Ends when it is interrupted.',
    operands: [],
    options: [{ ...LIMIT, does: 'End after this many.' }],
    examples: [
      { line: 'cairn hook tail', does: 'while you set up a sender' },
      { line: 'cairn hook tail --json --limit 1', does: 'the next one, for a program' },
    ],
    load: async () => (await import('./hook-tail.ts')).tail,
  },
  {
    name: 'hook test',
    summary: 'Sign a webhook with the secret the node names, send it there, and show what became of it.',
    operands: [
      PROVIDER,
      { name: 'FILE', required: false, does: 'The body to send (default: one that says it is a test).' },
    ],
    options: [{ name: 'event', value: 'NAME', does: 'The event it is about, for rules (default cairn.test).' }],
    examples: [
      { line: 'cairn hook test github', does: 'sets nothing in motion but rules for every event' },
      { line: 'cairn hook test github push.json --event push', does: 'a recorded payload, as GitHub would send it' },
    ],
    load: async () => (await import('./hook-test.ts')).test,
  },
  {
    name: 'hook replay',
    summary: 'Try a webhook again whose rule failed too often: one dead letter of a topic, under its old id.',
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
    summary:
      'Take the next message. Standard output is its receipt and its body; it comes again if nobody says it is done.',
    operands: [TOPIC],
    options: [{ name: 'wait-for', value: 'TIME', does: 'Wait up to this long for one, up to 20s.' }],
    examples: [{ line: 'cairn mailbox lease deploys --wait-for 20s', does: 'the exit code is 3 if there is none' }],
    load: async () => (await import('./mailbox.ts')).lease,
  },
  {
    name: 'mailbox ack',
    summary: 'A message is done, durably.',
    operands: [TOPIC, RECEIPT],
    options: [],
    examples: [
      { line: `cairn mailbox ack deploys ${SAMPLE_RECEIPT}`, does: 'the exit code is 8 if the lease is over' },
    ],
    load: async () => (await import('./mailbox.ts')).ack,
  },
  {
    name: 'mailbox nack',
    summary: 'A message is for somebody else, at once.',
    operands: [TOPIC, RECEIPT],
    options: [],
    examples: [{ line: `cairn mailbox nack deploys ${SAMPLE_RECEIPT}`, does: 'instead of letting the lease run out' }],
    load: async () => (await import('./mailbox.ts')).nack,
  },
  {
    name: 'mailbox peek',
    summary: 'The messages of a topic in the order they came, without taking any.',
    operands: [TOPIC],
    options: [LIMIT, CURSOR],
    examples: [{ line: 'cairn mailbox peek deploys', does: 'id, state, deliveries, time and body' }],
    load: async () => (await import('./mailbox.ts')).peek,
  },
  {
    name: 'mailbox dead',
    summary: 'Dead letters of a topic: delivered as often as may be, and never done.',
    operands: [TOPIC],
    options: [LIMIT, CURSOR],
    examples: [{ line: 'cairn mailbox dead @forward', does: 'what could not be forwarded' }],
    load: async () => (await import('./mailbox.ts')).dead,
  },
  {
    name: 'mailbox replay',
    summary: 'Put dead letters back, all of a topic or those named; each keeps its id.',
    operands: [TOPIC, { name: 'ID', required: false, repeats: true, does: 'A dead letter (default: all of them).' }],
    options: [],
    examples: [{ line: 'cairn mailbox replay deploys', does: 'once the reason is gone' }],
    load: async () => (await import('./mailbox.ts')).replay,
  },
]

const AUDITS: readonly CommandRow[] = [
  {
    name: 'audit',
    summary: 'What interop let in and what it turned away: number, time, decision, who, what, why, address.',
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
    summary: 'Compute the whole chain of the audit again, and hold it against every head the registry has of it.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn audit verify', does: 'the exit code is 4 if a line was edited, dropped or moved' }],
    load: async () => (await import('./audit-verify.ts')).verify,
  },
]

const PACKS: readonly CommandRow[] = [
  {
    name: 'pack add',
    summary: 'Serve a PMTiles or MBTiles file under a name, from now on. Standard output is its address.',
    operands: [PACK_NAME, { name: 'FILE', required: true, does: 'the file, on the machine of the node.' }],
    options: [PINNED],
    examples: [{ line: 'cairn pack add world ./world.pmtiles', does: 'at /edge/assets/p/world, after restarts too' }],
    load: async () => (await import('./pack.ts')).add,
  },
  {
    name: 'pack ls',
    summary: 'Every pack: whether it is served, who named it, its address, its tiles, its file.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn pack ls', does: 'those of the configuration and those that were added' }],
    load: async () => (await import('./pack.ts')).ls,
  },
  {
    name: 'pack rm',
    summary: 'Serve an added pack no more. Its file stays.',
    operands: [PACK_NAME],
    options: [],
    examples: [{ line: 'cairn pack rm world', does: 'requests under way still end with it' }],
    load: async () => (await import('./pack.ts')).rm,
  },
  {
    name: 'pack verify',
    summary: 'Whether a file is a pack that can be served: format, zooms, tiles counted, address. Asks nobody.',
    operands: [{ name: 'FILE', required: true, does: 'the file.' }],
    options: [PINNED, PROGRESS],
    examples: [{ line: 'cairn pack verify world.pmtiles', does: 'the exit code is 4 if it is damaged' }],
    load: async () => (await import('./pack-verify.ts')).verify,
  },
]

const INTEROP: readonly CommandRow[] = [
  {
    name: 'interop adopt',
    summary: 'Give up what the journal of interop lost, in a line of the audit, so that it takes webhooks again.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn interop adopt', does: 'when there is no backup that still has what is missing' }],
    load: async () => (await import('./interop.ts')).adopt,
  },
]

export const BRIDGE_COMMANDS: readonly CommandRow[] = [...PACKS, ...HOOKS, ...MAILBOXES, ...AUDITS, ...INTEROP]
