import { spawn } from 'node:child_process'
import { chmod, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type CommandHandler, dataFlag, dataPath } from './command.ts'
import { withNode } from './node-admin.ts'

/**
 * Opens the console in the browser, signed in. The browser is handed a file that only its owner reads, since every
 * process of the machine may read the command line of another.
 */
export const open: CommandHandler = async ({ given, terminal }) => {
  const { code, url, expiresInS, isLocal } = await withNode({ given, terminal }, async (node) => {
    const made = await node.signInCode()
    return { ...made, isLocal: node.isLocal }
  })
  const signIn = `${url}#signin=${code}`
  const result = { url, code, expires_in_s: expiresInS }
  if (given.has('print') || !isLocal) return { result: { ...result, opened: false }, data: `${signIn}\n` }
  const file = resolve(dataPath(given, terminal.environment), 'sign-in.html')
  await writeFile(file, redirectPage(signIn), { mode: 0o600 })
  await chmod(file, 0o600)
  const isOpened = await openInBrowser(file, terminal.environment)
  if (!isOpened) {
    const warnings = ['No program that opens a browser was found; open the address yourself.']
    return { result: { ...result, opened: false }, data: `${signIn}\n`, warnings }
  }
  return {
    result: { ...result, opened: true },
    message: `opened ${url} in your browser`,
    next: [`npx cairn open${dataFlag(given)} --print`],
  }
}

function redirectPage(url: string): string {
  const target = url.replaceAll('&', '&amp;').replaceAll('"', '&quot;')
  return `<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=${target}">
<title>cairn</title>
<p><a href="${target}">Open the console</a>
`
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ['open'],
  win32: ['cmd', '/c', 'start', ''],
}

/** False where there is no program for it. */
async function openInBrowser(
  file: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  const [program, ...first] = OPENERS[process.platform] ?? ['xdg-open']
  return await new Promise((done) => {
    const child = spawn(program, [...first, file], { stdio: 'ignore', detached: true, env: { ...environment } })
    child.once('error', () => done(false))
    child.once('spawn', () => {
      child.unref()
      done(true)
    })
  })
}
