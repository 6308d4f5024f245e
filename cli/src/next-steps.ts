/** What to type after something went wrong, by the code of the error. */
import { dirname } from 'node:path'
import type { CommandArguments } from './command.ts'

interface FailedCommand {
  /** What was run; empty where nothing was. */
  readonly command: string
  /** What was typed after it: what is known is not to be filled in by hand. */
  readonly args: Pick<CommandArguments, 'operands' | 'text' | 'line'>
  /** The data directory as the user would have to name it again: empty, or ` --data DIR`. */
  readonly dataFlag: string
  readonly tokenFile: string
}

function help({ command }: FailedCommand): readonly string[] {
  return [`npx cairn ${command === '' ? '' : `${command} `}--help`]
}

/** The proposal the command was about. */
function proposalOf({ command, args: given }: FailedCommand): string {
  const isAboutOne = command === 'name approve' || command === 'name commit'
  return (isAboutOne ? given.operands[0] : undefined) ?? 'PROPOSAL'
}

/** Where the registry is and what is shown to it, as it was typed. */
function flagsAsTyped({ args: given }: FailedCommand): string {
  return ['data', 'node', 'token-file']
    .flatMap((name) => {
      const value = given.text(name)
      return value === undefined ? [] : [` --${name} ${value}`]
    })
    .join('')
}

function topicOf({ args: given }: FailedCommand): string {
  return given.operands[0] ?? 'TOPIC'
}

/** An item, or the signers, changed while the proposal was open, or it was open too long. */
function proposeAgain({ dataFlag }: FailedCommand): readonly string[] {
  return [`npx cairn name propose NAME ADDRESS${dataFlag}`]
}

function whoSigns({ dataFlag }: FailedCommand): readonly string[] {
  return [`npx cairn registry signers${dataFlag}`]
}

const STEPS: Readonly<Record<string, (place: FailedCommand) => readonly string[]>> = {
  ChainMismatch: proposeAgain,
  DuplicateApproval: (place) => [`npx cairn name commit ${proposalOf(place)}${flagsAsTyped(place)}`],
  Expired: proposeAgain,
  InvalidSig: (place) => [`npx cairn name approve ${proposalOf(place)}${flagsAsTyped(place)} --key FILE`],
  NotASigner: whoSigns,
  NotFound: ({ dataFlag }) => [`npx cairn name log${dataFlag}`],
  OwnCheckpoint: (place) => [
    `npx cairn registry adopt --checkpoint FILE${flagsAsTyped(place)}    # one that was kept elsewhere`,
    `npx cairn registry adopt --moved${flagsAsTyped(place)}    # with the record of the old machine here, or if nothing was signed since`,
  ],
  QuorumFailed: (place) => [`npx cairn name approve ${proposalOf(place)}${flagsAsTyped(place)} --key FILE`],
  // Of a release nothing changes; another name is free.
  ReleaseFixed: ({ command, args: given, dataFlag }) => [
    `npx cairn publish ${(command === 'publish' ? given.operands[0] : undefined) ?? 'PATH'} NAME${dataFlag}`,
  ],
  RevokedKey: whoSigns,
  StaleSignerSet: proposeAgain,
  backup_damaged: ({ dataFlag }) => [`npx cairn backup create DIR${dataFlag}`],
  backup_exists: ({ dataFlag }) => [`npx cairn backup create ANOTHER${dataFlag}`],
  cannot_listen: ({ dataFlag }) => [`npx cairn stop${dataFlag}`, `npx cairn start${dataFlag} --port-base 8070`],
  config: () => ['npx cairn config validate'],
  config_refused: ({ dataFlag }) => ['npx cairn config validate', `npx cairn config reload${dataFlag}`],
  connection_lost: ({ dataFlag }) => [`npx cairn status${dataFlag}`],
  data_foreign: () => ['npx cairn start --data DIR'],
  data_format: () => ['npx cairn start --data DIR'],
  data_locked: ({ dataFlag }) => [`npx cairn status${dataFlag}`, `npx cairn stop${dataFlag}`],
  disk_denied: ({ dataFlag }) => [`ls -ld ${dataFlag.replace(' --data ', '') || './.cairn'}`],
  draining: ({ dataFlag }) => [`npx cairn stop${dataFlag}`],
  file_exists: ({ command, args: given }) => [`npx cairn ${command}${given.line} --force`],
  exists: () => ['npx cairn config validate'],
  key_exists: () => ['npx cairn key new FILE'],
  insecure_public: () => ['npx cairn start --insecure-public'],
  no_file: help,
  no_directory: ({ args: given }) => [`mkdir -p ${dirname(given.text('output') ?? given.text('proof') ?? 'DIR/FILE')}`],
  no_backup: () => ['npx cairn backup create --help'],
  no_data: () => ['npx cairn start --data DIR'],
  no_key: () => ['npx cairn key new'],
  lease_lost: (place) => [`npx cairn mailbox peek ${topicOf(place)}${flagsAsTyped(place)}`],
  no_message: (place) =>
    ['peek', 'dead'].map((verb) => `npx cairn mailbox ${verb} ${topicOf(place)}${flagsAsTyped(place)}`),
  no_name: ({ dataFlag }) => [`npx cairn name log${dataFlag}`, `npx cairn name propose NAME ADDRESS${dataFlag}`],
  no_proof: ({ dataFlag }) => [`npx cairn name propose NAME ADDRESS${dataFlag}`],
  no_providers: ({ dataFlag }) => [`npx cairn peers${dataFlag}`, `npx cairn put FILE${dataFlag}`],
  no_secret: ({ dataFlag }) => [`npx cairn hook ls${dataFlag}`],
  no_space: () => ['df -h', 'npx cairn start --data DIR'],
  no_token: ({ dataFlag }) => [`npx cairn status${dataFlag}`],
  not_found: ({ dataFlag }) => [`npx cairn ls${dataFlag}`],
  not_ready: ({ dataFlag }) => [`npx cairn status${dataFlag}`],
  // Each service has its own name for it.
  malformed: help,
  MALFORMED: help,
  Malformed: help,
  bad_request: help,
  pack_configured: ({ dataFlag }) => [`npx cairn pack ls${dataFlag}`, 'npx cairn config print --origin'],
  provider_off: () => ['npx cairn hook add PROVIDER', 'npx cairn config validate'],
  proof_damaged: () => ['npx cairn name show NAME --proof FILE'],
  secret_exists: () => ['npx cairn hook add PROVIDER --secret-file FILE'],
  token_in_clear_text: ({ command }) => [`npx cairn ${command} --node https://HOST:PORT --token-file FILE`],
  token_of_another_node: ({ command, dataFlag }) => [
    `npx cairn ${command} --node URL --token-file FILE`,
    `npx cairn ${command}${dataFlag}`,
  ],
  timeout: ({ dataFlag }) => [`npx cairn status${dataFlag} --timeout 60s`],
  unusable_pack: () => ['npx cairn pack verify FILE'],
  upstream_unready: ({ dataFlag }) => [`npx cairn status${dataFlag}`],
  usage: help,
  wrong_passphrase: ({ dataFlag }) => [`npx cairn backup restore BACKUP${dataFlag} --passphrase-file FILE`],
  unreachable: ({ command, dataFlag }) => [
    command === 'stop' ? 'npx cairn stop --data DIR' : `npx cairn start${dataFlag}`,
  ],
}

/** Every reason for which a token is refused has the same remedy: look at it. */
const TOKEN_CODE = /^(?:token|caveat|scope)_/

export function nextSteps(code: string, place: FailedCommand): readonly string[] {
  const steps = STEPS[code]
  if (steps !== undefined) return steps(place)
  return TOKEN_CODE.test(code) ? [`npx cairn token inspect --token-file ${place.tokenFile}`] : []
}
