/** A socket file only its owner can reach. */
import { chmod, lstat, mkdir, stat, unlink } from 'node:fs/promises'
import { connect } from 'node:net'
import { dirname } from 'node:path'
import { CairnError } from '@cairn/kernel'

/** Makes the directory (0700) and removes what a process that died left behind; refuses to take over a live socket. */
export async function prepareSocketPath(path: string): Promise<void> {
  const directory = dirname(path)
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const { mode } = await stat(directory)
  if ((mode & 0o077) !== 0)
    throw new CairnError(
      'RejectPolicy',
      `${directory} must be closed to others (chmod 700) before a socket goes there.`,
    )
  if (!(await isSocket(path))) return
  if (await isAnswered(path)) throw new CairnError('Conflict', `Another process listens on ${path}; stop it first.`)
  await unlink(path)
}

/** Closes the file itself to others, once it is there. */
export async function closeToOthers(path: string): Promise<void> {
  await chmod(path, 0o600)
}

async function isSocket(path: string): Promise<boolean> {
  try {
    if ((await lstat(path)).isSocket()) return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return false
    throw error
  }
  throw new CairnError('Conflict', `${path} exists and is not a socket; choose another path.`)
}

async function isAnswered(path: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const probe = connect(path)
    probe.once('connect', () => {
      probe.destroy()
      resolve(true)
    })
    probe.once('error', () => resolve(false))
  })
}
