/** What somebody sees of a command: the ways to look, and what is left out because it differs from run to run. */
import { Capture } from './capture.ts'

export interface Form {
  readonly name: string
  /** Given after the command. */
  readonly flags: readonly string[]
  readonly terminal: (environment: Readonly<Record<string, string>>, input: string) => Capture
}

const WATCHED = { isWatched: true, isDataWatched: true } as const

export const FORMS: readonly Form[] = [
  {
    name: 'terminal',
    flags: [],
    terminal: (environment, input) => new Capture({ ...WATCHED, columns: 100, environment, input }),
  },
  { name: 'piped', flags: [], terminal: (environment, input) => new Capture({ environment, input }) },
  { name: 'json', flags: ['--json'], terminal: (environment, input) => new Capture({ environment, input }) },
  {
    name: 'no-color',
    flags: [],
    terminal: (environment, input) =>
      new Capture({ ...WATCHED, columns: 100, environment: { ...environment, NO_COLOR: '1' }, input }),
  },
  {
    name: '40 columns',
    flags: [],
    terminal: (environment, input) => new Capture({ ...WATCHED, columns: 40, environment, input }),
  },
]

export interface Seen {
  readonly code: number
  readonly data: string
  readonly words: string
}

/** One look at one command: what was typed, standard output, standard error, exit code. */
export function screen(typed: string, { code, data, words }: Seen): string {
  const lines = (mark: string, text: string): string[] =>
    text === ''
      ? []
      : text
          .replace(/\n$/, '')
          .split('\n')
          .map((line) => `${mark} ${line}`.trimEnd())
  return [`$ ${typed}`, ...lines('1│', data), ...lines('2│', words), `= ${code}`].join('\n')
}

/** The first lines of something long, and how it goes on. */
export function shortened(text: string, linesMax: number): string {
  const lines = text.split('\n').map((line) => (line.length <= LINE_MAX ? line : `${line.slice(0, LINE_MAX)}⋮`))
  return lines.length <= linesMax ? lines.join('\n') : `${lines.slice(0, linesMax).join('\n')}\n⋮\n`
}

/** Objects that describe everything there is are told elsewhere. */
const LINE_MAX = 1500

const MASKS: readonly (readonly [RegExp, string])[] = [
  // How good the drive is under all the tests beside this one.
  [/[✔…] drive .*\n(?: +→.*\n)?/g, '✔ drive    FACTS\n'],
  [/\{"check":"drive"[^}]*\}/g, '{"check":"drive"}'],
  // How many files this system lets a process have.
  [/[✔…] files .*\n(?: +→.*\n)?/g, '✔ files    FACTS\n'],
  [/\{"check":"files"[^}]*\}/g, '{"check":"files"}'],
  [/(?:drive, )?(?:files, )?backup/g, 'backup'],
  [/(?<=--port-base )\d{5}/g, 'PORT'],
  // Progress that is drawn over and over: what stays is what comes after it.
  // oxlint-disable-next-line no-control-regex -- how a line is drawn again
  [/(?:\r\u001B\[K[^\r\n]*)*\r\u001B\[K/g, ''],
  [/\/\S*\/cairn-stand-in-\w{6}/g, 'STAND-IN'],
  [/b3:[0-9a-f]{64}/g, 'b3:…'],
  [/\bp_[0-9a-f]{32}/g, 'p_…'],
  [/\b[0-9a-f]{32}:\d+:[0-9a-f]{32}\b/g, 'RECEIPT'],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, 'ULID'],
  [/\b12D3Koo\w+/g, 'PEER'],
  [/\b[0-9a-f]{6}(?:-[0-9a-f]{6}){3}\b/g, 'CODE'],
  [/\b[0-9a-f]{16,64}\b/g, 'HEX'],
  [/(?<![\w+/-])[\w+/-]{40,}={0,2}(?:\.[\w-]{40,})*/g, 'BASE64'],
  [/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME'],
  [/\b1[6-9]\d{11}\b/g, 'UNIXMS'],
  [/\b[0-9a-f]{4}…[0-9a-f]{2}\b/g, 'KEY'],
  [/PEER…\w{4}/g, 'PEER'],
  [/(?<="score":)[\d.]+|(?<=  )0\.\d\d(?=  )/g, 'N'],
  [/(?<="(?:started|elapsed|waited|uptime|visibility)\w*_ms":)\d+/g, 'N'],
  [/http:\/\/(?:127\.0\.0\.1|localhost):\d+\/?/g, 'URL'],
  [/127\.0\.0\.1:\d+/g, 'HOST:PORT'],
  [/\bpid\b(\W+)\d+/g, 'pid$1N'],
  [/\b(port|Port) \d+/g, '$1 N'],
  [/\d+ (?=records?\b)/g, 'N '],
  // One second, or two on a machine that is busy.
  [/\d+ seconds? old/g, 'N seconds old'],
  [/(?<=\bup )[\d hmin]+ s\b/g, 'N s'],
  [/\bnode v?\d+\.\d+(?:\.\d+)?/g, 'node VERSION'],
  [/\d+(?:\.\d+)? (?:ms|s)\b/g, 'N s'],
  [/\d+(?:\.\d+)? (?:B|kB|MB|GB|TB)\b/g, 'N B'],
  [
    /(?<="(?:free|bytes|new_bytes|total|read|size|records|fsync_ms|took_ms|per_second|bytes_per_second|objects|p50_ms|p99_ms|last_seen_s|freshness_s|committed_at|expires_at|completed_at)":)\d+(?:\.\d+)?/g,
    'N',
  ],
  [/\d[\d ]* objects?(?=\/s)|(?<=\()[\d ]+ objects?(?=\))/g, 'N objects'],
]

/** The text as it is every time, whatever the directory is called. */
export function masked(text: string, directory: string): string {
  const placed = text.replaceAll(directory, 'DIR')
  return MASKS.reduce((now, [pattern, instead]) => now.replaceAll(pattern, instead), placed)
}
