/** What to type after something went wrong, by the code of the error. */

interface Place {
  /** What was run; empty where nothing was. */
  readonly command: string
  /** The data directory as the user would have to name it again: empty, or ` --data DIR`. */
  readonly dataFlag: string
  readonly tokenFile: string
}

function help({ command }: Place): readonly string[] {
  return [`npx cairn ${command === '' ? '' : `${command} `}--help`]
}

/** An item, or the signers, changed while the proposal was open, or it was open too long. */
function proposeAgain({ dataFlag }: Place): readonly string[] {
  return [`npx cairn name propose NAME ADDRESS${dataFlag}`]
}

function whoSigns({ dataFlag }: Place): readonly string[] {
  return [`npx cairn registry signers${dataFlag}`]
}

const STEPS: Readonly<Record<string, (place: Place) => readonly string[]>> = {
  ChainMismatch: proposeAgain,
  DuplicateApproval: ({ dataFlag }) => [`npx cairn name commit PROPOSAL${dataFlag}`],
  Expired: proposeAgain,
  InvalidSig: ({ dataFlag }) => [`npx cairn name approve PROPOSAL --key FILE${dataFlag}`],
  NotASigner: whoSigns,
  NotFound: ({ dataFlag }) => [`npx cairn name log${dataFlag}`],
  QuorumFailed: ({ dataFlag }) => [`npx cairn name approve PROPOSAL --key FILE${dataFlag}`],
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
  file_exists: ({ command }) => [`npx cairn ${command} … --force`],
  exists: () => ['npx cairn config validate'],
  key_exists: () => ['npx cairn key new FILE'],
  insecure_public: () => ['npx cairn start --insecure-public'],
  no_file: (place) => ['ls -l', ...help(place)],
  no_backup: () => ['npx cairn backup create --help'],
  no_data: () => ['npx cairn start --data DIR'],
  no_key: () => ['npx cairn key new'],
  lease_lost: ({ dataFlag }) => [`npx cairn mailbox peek TOPIC${dataFlag}`],
  no_message: ({ dataFlag }) => [`npx cairn mailbox peek TOPIC${dataFlag}`, `npx cairn mailbox dead TOPIC${dataFlag}`],
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

export function nextSteps(code: string, place: Place): readonly string[] {
  const steps = STEPS[code]
  if (steps !== undefined) return steps(place)
  return TOKEN_CODE.test(code) ? [`npx cairn token inspect --token-file ${place.tokenFile}`] : []
}
