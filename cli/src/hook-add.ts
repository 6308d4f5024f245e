/** `cairn hook add PROVIDER`: the section of the configuration that lets a provider in, and a secret for it. */
import { mkdir, open } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CairnError, SystemRandom } from '@cairn/kernel'
import type { CommandContext, Run } from './command.ts'
import type { ProviderName } from './hook-config.ts'
import { isThere } from './local-files.ts'
import { ownKeyPath } from './signer-key-file.ts'

const SECRET_BYTES = 32
const SECRET_MODE = 0o600

/** Who makes the secret; where theirs is to be found. */
const ISSUED: Readonly<Partial<Record<ProviderName, string>>> = {
  slack: 'the signing secret under Basic Information of the app',
  stripe: 'the signing secret of the endpoint, whsec_…',
}

export const add: Run = async (context) => {
  const { given } = context
  const name = (given.operands[0] ?? '') as ProviderName
  const env = given.text('env')
  const path = env === undefined ? secretPath(context, name) : undefined
  if (given.has('generate')) await generate(name, path)
  const isMissing = path !== undefined && !(await isThere(path))
  const place = path === undefined ? { env: env ?? '' } : { file: path }
  const [key = '', value = ''] = Object.entries(place)[0] ?? []
  return {
    result: { provider: name, ...place, generated: given.has('generate'), path: `/webhooks/${name}` },
    data: [
      `[interop.providers.${name}]`,
      'enabled = true',
      `secrets = [{ ${key} = ${JSON.stringify(value)} }]`,
      '',
    ].join('\n'),
    message: [
      'the lines above go into cairn.toml; they take effect with the next start',
      `secret  ${sayPlace(name, path, env, given.has('generate'))}`,
      `URL     https://YOUR-HOST/webhooks/${name}, as JSON where the provider asks`,
    ].join('\n  '),
    warnings: isMissing ? [`there is no secret in ${path} yet; the node does not start without it`] : [],
    next: ['npx cairn config validate', `npx cairn hook test ${name}`],
  }
}

/** The user's own configuration, never the working directory: a secret in a repository is soon somebody else's. */
function secretPath({ given, terminal }: CommandContext, name: string): string {
  const named = given.text('secret-file')
  return resolve(named ?? join(dirname(ownKeyPath(terminal.environment)), 'hooks', `${name}.secret`))
}

function sayPlace(name: ProviderName, path: string | undefined, env: string | undefined, isMade: boolean): string {
  const place = path ?? `the environment variable ${env ?? ''} of the node`
  if (isMade) return `new, in ${place}; give the same text to the sender`
  const issued = ISSUED[name]
  return issued === undefined ? `the one the sender signs with goes into ${place}` : `${issued}, goes into ${place}`
}

/** Writes a new secret for its owner alone. Whatever is there already stays as it is. */
async function generate(name: ProviderName, path: string | undefined): Promise<void> {
  const issued = ISSUED[name]
  if (issued !== undefined)
    throw usage(`The secret of ${name} is made by ${name}: ${issued}. Write that into the file, without --generate.`)
  if (path === undefined) throw usage('--generate writes a file; --env names a variable that is set elsewhere.')
  const bytes = Buffer.from(new SystemRandom().bytes(SECRET_BYTES))
  const secret = name === 'standard' ? `whsec_${bytes.toString('base64')}` : bytes.toString('hex')
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 })
    await using file = await open(path, 'wx', SECRET_MODE)
    await file.writeFile(`${secret}\n`)
    await file.sync()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'EEXIST') {
      const detail = `${path} is there already and stays as it is: senders may still sign with it.`
      throw new CairnError('Conflict', detail, { code: 'secret_exists', cause })
    }
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new CairnError('Malformed', `${path} cannot be written: ${why}.`, { code: 'unwritable', cause })
  }
}

function usage(detail: string): CairnError {
  return new CairnError('Malformed', detail, { code: 'usage' })
}
