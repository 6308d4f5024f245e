/** The commands of names and of the registry; `table.ts` has all of them. */
import type { CommandRow, OperandRow, OptionRow } from './command.ts'
import { ADDRESS, LINKS, OUTPUT, PROGRESS, SAMPLE_ADDRESS } from './shared-options.ts'

export const REGISTRY_NOUNS: Readonly<Record<string, string>> = {
  key: "Keys of signers. They stay on the signer's machine; a node never reads them.",
  name: 'Names: propose a value, approve it, commit it, show what a name stands for now and stood for earlier.',
  registry: 'The registry as a whole: who signs, whom to believe, and whether its log holds.',
}

const PROPOSAL: OperandRow = { name: 'PROPOSAL', required: true, does: 'the id that `cairn name propose` printed.' }

const NOTE: OptionRow = { name: 'note', value: 'TEXT', does: 'A note for the signers; it stays in the log.' }

/** What a new name is; one that stands keeps its kind. */
const NAME_KIND: readonly OptionRow[] = [
  { name: 'release', does: 'A new name keeps its meaning for ever (default for a tag like 1.0 or v2).' },
  { name: 'channel', does: 'A new name may be given another meaning (default for any other tag).' },
]

/** What a verification starts from. */
const TRUST_FILE: OptionRow = {
  name: 'trust',
  value: 'FILE',
  does: 'Whom to believe, as `cairn registry trust` writes it (default: what was remembered of this log).',
}
const TRUST: readonly OptionRow[] = [
  TRUST_FILE,
  { name: 'max-age', value: 'TIME', does: 'Refuse a checkpoint older than this, such as 30m or 1d.' },
]

const KEY: OptionRow = {
  name: 'key',
  value: 'FILE',
  does: 'The key to sign with (default: registry/signer.key in --data, else the one `cairn key new` makes).',
}

/** Ids as they look; these name nothing. */
const SAMPLE_PROPOSAL = 'p_000102030405060708090a0b0c0d0e0f'

const PATH: OperandRow = { name: 'PATH', required: true, does: 'a file or a directory.' }

export const REGISTRY_COMMANDS: readonly CommandRow[] = [
  {
    name: 'publish',
    summary: 'Publish a file or directory under a name: put, propose, sign and commit in one command.',
    operands: [PATH, { name: 'NAME', required: true, does: 'the name, such as site@live.' }],
    options: [
      { name: 'type', value: 'TYPE', does: 'The media type the signers vouch for, such as text/html.' },
      ...NAME_KIND,
      NOTE,
      KEY,
      LINKS,
      { name: 'dry-run', does: 'Show what would be proposed; store and propose nothing.' },
      PROGRESS,
    ],
    examples: [
      { line: 'cairn publish ./site site@live', does: 'its address, and every URL it is served at' },
      { line: 'cairn publish ./site site@live --dry-run', does: 'what would change' },
    ],
    load: async () => (await import('./publish.ts')).publish,
  },
  {
    name: 'key new',
    summary: 'Create a signer key and print its public half, as a signer set lists it. Never overwrites.',
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
    summary: 'Propose what a name is to mean, and print the id of the proposal.',
    operands: [
      { name: 'NAME', required: true, does: 'the name, such as site@1.0.' },
      { ...ADDRESS, required: false, does: 'the address it is to mean; none with --remove.' },
    ],
    options: [
      { name: 'type', value: 'TYPE', does: 'The media type the signers vouch for, such as text/html.' },
      { name: 'remove', does: 'Propose to remove the name.' },
      {
        name: 'supersede',
        value: 'REASON',
        does: 'Overrule the newest version, and say why: it commits only while that is the newest.',
      },
      ...NAME_KIND,
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
    summary: 'Sign a proposal, after showing what is signed as computed here.',
    operands: [PROPOSAL],
    options: [KEY, TRUST_FILE, { name: 'yes', does: 'Sign without a question; a program must say so.' }],
    examples: [{ line: `cairn name approve ${SAMPLE_PROPOSAL} --key alice.key`, does: 'as alice' }],
    load: async () => (await import('./name.ts')).approve,
  },
  {
    name: 'name commit',
    summary: 'Commit an approved proposal as the next version, and print the version and its hash.',
    operands: [PROPOSAL],
    options: [],
    examples: [{ line: `cairn name commit ${SAMPLE_PROPOSAL}`, does: 'says who is missing if it is too early' }],
    load: async () => (await import('./name.ts')).commit,
  },
  {
    name: 'name pending',
    summary: 'List open proposals: what each would change, who approved it, who is missing.',
    operands: [],
    options: [],
    examples: [{ line: 'cairn name pending', does: 'what waits for signatures' }],
    load: async () => (await import('./name.ts')).pending,
  },
  {
    name: 'name review',
    summary: 'Show what a proposal would change: names before and after, and the files of both.',
    operands: [PROPOSAL],
    options: [TRUST_FILE],
    examples: [
      { line: `cairn name review ${SAMPLE_PROPOSAL}`, does: 'before signing; computed here from proved data' },
    ],
    load: async () => (await import('./review.ts')).review,
  },
  {
    name: 'name show',
    summary: 'Show what a name stands for, now or at a version, and who approved it.',
    operands: [{ name: 'NAME', required: true, does: 'the name, such as site@1.0.' }],
    options: [
      { name: 'at', value: 'VERSION', does: 'What it meant at this version.' },
      {
        name: 'proof',
        value: 'FILE',
        does: 'Write the proof of it, for `cairn verify-proof`; with --at, of the version that said so.',
      },
      { name: 'trees', does: 'Write what its directories list to FILE.trees beside the proof, for `cairn verify`.' },
    ],
    examples: [{ line: 'cairn name show site@1.0 --proof site.proof', does: 'for a reader who trusts no server' }],
    load: async () => (await import('./name-history.ts')).show,
  },
  {
    name: 'name log',
    summary: 'List the versions of a name since it was last created, or of everything, newest first.',
    operands: [{ name: 'NAME', required: false, does: 'A name (default: every version).' }],
    options: [
      { name: 'limit', value: 'N', does: 'At most this many versions, up to 1000 (default 20).' },
      { name: 'before', value: 'VERSION', does: 'Only versions before this one.' },
    ],
    examples: [{ line: 'cairn name log site@1.0', does: 'what it meant, when, and who said so' }],
    load: async () => (await import('./name-history.ts')).log,
  },
  {
    name: 'registry signers',
    summary: 'Print the signer set and its quorum, as a file to edit for `cairn registry rotate`.',
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
    summary: 'Allow a restored registry to write again, after a check that no version is missing.',
    operands: [],
    options: [
      {
        name: 'checkpoint',
        value: 'FILE',
        does: 'The newest checkpoint of this log that was seen elsewhere, as /log/checkpoint gave it.',
      },
      {
        name: 'moved',
        does: 'Nothing was signed since the backup or the move; compared with what is known outside, if anything is.',
      },
    ],
    examples: [
      { line: 'cairn registry adopt --checkpoint newest.txt', does: 'then stop and start the node once more' },
      {
        line: 'cairn registry adopt --moved',
        does: 'the old node is stopped, and its record is in the state directory here',
      },
    ],
    load: async () => (await import('./registry.ts')).adopt,
  },
  {
    name: 'registry trust',
    summary: 'Write a trust file for this registry: its origin, first version and log keys.',
    operands: [],
    options: [{ ...OUTPUT, does: 'Where to write it (default: standard output).' }],
    examples: [{ line: 'cairn registry trust -o trust.json', does: 'from a node you trust, over a way you trust' }],
    load: async () => (await import('./registry.ts')).trust,
  },
  {
    name: 'registry verify',
    summary: 'Verify a whole log by computing it again, and report what was checked.',
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
    summary: 'Verify a proof file offline.',
    operands: [{ name: 'FILE', required: true, does: 'the proof, as `cairn name show --proof` writes it.' }],
    options: TRUST,
    examples: [
      { line: 'cairn verify-proof site.proof --trust trust.json', does: 'the exit code is 0 only if verified' },
    ],
    load: async () => (await import('./verify-proof.ts')).verify,
  },
  {
    name: 'verify',
    summary: 'Verify offline that a file or directory is what a name stands for.',
    operands: [PATH],
    options: [
      {
        name: 'proof',
        value: 'FILE',
        does: 'The proof of the name; FILE.trees beside it, if there, names the files that differ.',
      },
      { name: 'name', value: 'NAME', does: 'The name, where the proof is of a version that gave several.' },
      ...TRUST,
    ],
    examples: [
      {
        line: 'cairn verify ./app --proof app.proof --trust trust.json',
        does: 'the exit code is 4 if anything differs',
      },
    ],
    load: async () => (await import('./verify.ts')).verify,
  },
]
