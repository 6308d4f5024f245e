/** How every outcome and every failure is said: one JSON object, or data on one stream and words on the other. */

import { dirname } from 'node:path'
import type { CairnError } from '@cairn/kernel'
import { type CommandArguments, type CommandOutcome, dataFlag, tokenPath } from './command.ts'
import { EXIT_CODES, exitCodeOf } from './exit-codes.ts'
import { mark, type Terminal } from './terminal.ts'
import { asCalled, escapeControls, escapeControlsInLines, wrapText } from './terminal-text.ts'

// What to type after something went wrong, by the code of the error.

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

/** Failures are known by their code here, so that the help and usage screens need no class of error. */
export type Failure = Pick<CairnError, 'kind' | 'code' | 'message' | 'cause'>

export class Printer {
  readonly #terminal: Terminal
  readonly #args: CommandArguments
  readonly #command: string

  /** For a command, a noun, or nothing where there was neither. */
  constructor(terminal: Terminal, given: CommandArguments, command: string) {
    this.#terminal = terminal
    this.#args = given
    this.#command = command
  }

  /** Says the outcome; returns the exit code. */
  outcome({ result, data = '', message, warnings = [], next = [], error }: CommandOutcome): number {
    if (this.#args.has('json')) {
      this.#json({
        ok: error === undefined,
        result,
        error: error === undefined ? null : described(error),
        warnings,
        next: next.map((step) => asCalled(step)),
      })
    } else {
      this.#terminal.write(escapeControlsInLines(data))
      if (!this.#args.has('quiet')) this.#notes(message, warnings, error === undefined ? next : [])
      if (error !== undefined) this.#screen(error, next)
    }
    return error === undefined ? EXIT_CODES.ok.code : exitCodeOf(error)
  }

  /** Says what went wrong and what to type next; returns the exit code. */
  failure(failure: Failure): number {
    const next = nextSteps(failure.code, {
      command: this.#command,
      args: this.#args,
      dataFlag: dataFlag(this.#args),
      tokenFile: tokenPath(this.#args, this.#terminal.environment),
    })
    if (this.#args.has('json'))
      this.#json({
        ok: false,
        result: null,
        error: described(failure),
        warnings: [],
        next: next.map((step) => asCalled(step)),
      })
    else this.#screen(failure, next)
    return exitCodeOf(failure)
  }

  #notes(message: string | undefined, warnings: readonly string[], next: readonly string[]): void {
    const lines = warnings.map((warning) => `${this.#mark('open')} ${this.#sentence(warning)}\n`)
    if (message !== undefined) lines.push(`${this.#mark('good')} ${this.#sentence(message)}\n`)
    this.#terminal.say([...lines, ...nextLines(next)].join(''))
  }

  #screen({ message, code, cause }: Failure, next: readonly string[]): void {
    const stack = code === 'internal' && cause instanceof Error ? `${cause.stack ?? ''}\n` : ''
    const text = `${this.#mark('bad')} ${this.#sentence(message.replaceAll('\n', '\n  '))}\n${escapeControlsInLines(stack)}`
    this.#terminal.say([text, ...nextLines(next)].join(''))
  }

  #json(fields: Readonly<Record<string, unknown>>): void {
    const name = this.#command === '' ? 'usage' : this.#command.replaceAll(' ', '.')
    this.#terminal.write(`${JSON.stringify({ schema: `cairn.${name}/1`, ...fields })}\n`)
  }

  /** Beside a mark, which takes two columns. */
  #sentence(text: string): string {
    const { columns } = this.#terminal
    return wrapText(escapeControlsInLines(asCalled(text)), columns === undefined ? undefined : columns - 2, '  ')
  }

  #mark(kind: 'good' | 'bad' | 'open'): string {
    return mark(kind, isColoured(this.#terminal, this.#args))
  }
}

/** Whether messages may have colours. */
function isColoured({ isWatched, environment }: Terminal, given: CommandArguments): boolean {
  return isWatched && !given.has('no-color') && (environment['NO_COLOR'] ?? '') === ''
}

function described({ kind, code, message }: Failure): Readonly<Record<string, unknown>> {
  return { code, kind, detail: message, exit_code: exitCodeOf({ kind, code }) }
}

function nextLines(next: readonly string[]): string[] {
  return next.map((step, index) => `  ${index === 0 ? 'Next:' : '  or:'}  ${escapeControls(asCalled(step))}\n`)
}
