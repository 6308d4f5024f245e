/**
 * What this user has seen of each log, so that a log cannot show less or something else later.
 *
 *     $CAIRN_STATE/pins/<hash of the origin>.json        (default cairn in $XDG_STATE_HOME or ~/.local/state)
 *
 * A pin is the last checkpoint that verified and the trust it was verified by. It only ever moves forward.
 */
import { mkdir } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { CairnError } from '@cairn/kernel'
import { encodePin, type Pin, parsePin } from '@cairn/names'
import { stateDirectory } from '@cairn/platform'
import { addressOf } from '@cairn/wire'
import { isThere, readWhole, writeFileWhole } from './local-files.ts'

type PinEnvironment = Readonly<Record<string, string | undefined>>

export function pinPath(environment: PinEnvironment, origin: string): string {
  const state = stateDirectory(environment) ?? stateDirectory({ HOME: homedir() }) ?? '.'
  const name = addressOf(new TextEncoder().encode(origin)).slice('b3:'.length, 'b3:'.length + 32)
  return join(state, 'pins', `${name}.json`)
}

/** Whether anything was seen of any log. */
export async function hasPins(environment: PinEnvironment): Promise<boolean> {
  return await isThere(dirname(pinPath(environment, '')))
}

/** What was seen of this log before; nothing if it is met for the first time. */
export async function readPin(environment: PinEnvironment, origin: string): Promise<Pin | undefined> {
  const path = pinPath(environment, origin)
  if (!(await isThere(path))) return undefined
  const bytes = await readWhole(path)
  try {
    const pin = parsePin(bytes)
    if (pin.trust.origin === origin) return pin
  } catch (cause) {
    throw damaged(path, cause)
  }
  throw damaged(path)
}

/** Remembers the pin, unless a later one is known by now; says where it is. */
export async function storePin(environment: PinEnvironment, pin: Pin): Promise<string> {
  const { origin } = pin.trust
  const path = pinPath(environment, origin)
  const known = await readPin(environment, origin)
  if (known !== undefined && known.size > pin.size) return path
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  await writeFileWhole(path, [encodePin(pin)])
  return path
}

function damaged(path: string, cause?: unknown): CairnError {
  const detail = `${path}, which remembers what was seen of this log, is damaged. Restore it; to forget what was seen, remove it.`
  return new CairnError('Integrity', detail, { code: 'pin_damaged', cause })
}
