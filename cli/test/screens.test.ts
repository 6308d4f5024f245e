/**
 * What every command looks like: at a terminal, in a pipe, with `--json`, with NO_COLOR, in forty columns. The screens
 * are in `screens/`, one file for each command; `CAIRN_SCREENS=write node --test cli/test/screens.test.ts` writes them.
 */
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { COMMANDS } from '../src/table.ts'
import { FORMS, type Seen } from './screen-forms.ts'
import { playDay } from './screen-scenes.ts'
import { ScreenStage } from './screen-stage.ts'

const FOLDER = new URL('./screens/', import.meta.url)
const isWriting = process.env['CAIRN_SCREENS'] === 'write'

const stages: ScreenStage[] = []
let state = ''

before(async () => {
  // A node in this process looks into its environment. The name is as long on every machine: lines are broken by it.
  state = await mkdtemp('/tmp/cairn-state-')
  process.env['CAIRN_STATE'] = state
  stages.push(...(await Promise.all(FORMS.map(ScreenStage.open))))
  await Promise.all(stages.map(playDay))
})
after(async () => {
  for (const stage of stages) await stage[Symbol.asyncDispose]()
  delete process.env['CAIRN_STATE']
  await rm(state, { recursive: true })
})

function titles(): readonly string[] {
  return [...(stages[0]?.screens.keys() ?? [])]
}

function pageOf(title: string): string {
  const sections = stages.map(({ form, screens }) => `── ${form.name}\n${screens.get(title)?.text ?? ''}\n`)
  return sections.join('\n')
}

function fileOf(title: string): string {
  return `${title.toLowerCase().replaceAll(/[^a-z-]+/g, '-')}.txt`
}

test('every command of the table has a screen', () => {
  const missing = COMMANDS.filter(({ name }) => !titles().includes(name))
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  )
})

test('every screen is the one that is written down', () => {
  if (isWriting) {
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER)
    for (const title of titles()) writeFileSync(new URL(fileOf(title), FOLDER), pageOf(title))
  }
  for (const title of titles()) assert.equal(pageOf(title), readFileSync(new URL(fileOf(title), FOLDER), 'utf8'), title)
  assert.deepEqual(readdirSync(FOLDER).sort(), titles().map(fileOf).sort())
})

test('standard output is the same data whoever looks, and with --json one object a line and nothing beside it', () => {
  const look = (form: string, title: string): Seen => {
    const seen = stages.find((stage) => stage.form.name === form)?.screens.get(title)
    return seen ?? assert.fail(`${title} was not looked at: ${form}`)
  }
  for (const title of titles().filter((name) => !OUTSIDE.includes(name))) {
    const [seen, plain, object] = [look('terminal', title), look('piped', title), look('json', title)]
    if (!SHOWN_TO_PEOPLE.includes(title)) assert.equal(seen.data, plain.data, title)
    // oxlint-disable-next-line no-control-regex -- colours are what is looked for
    assert.doesNotMatch(`${plain.data}${plain.words}${object.data}`, /\u001B/, title)
    assert.equal(object.words, '', title)
    const lines = object.data.split('\n').filter((line) => line !== '' && line !== '⋮')
    for (const line of lines)
      assert.match(line, /^\{"schema":"cairn\.[a-z.-]+\/1","ok":(?:true|false),"result":/, title)
  }
})

/** Help that fits the width of the terminal, and a start whose event is for programs alone. */
const SHOWN_TO_PEOPLE = ['help', 'help of a command', 'start']
/** Said by the launcher, which knows no options. */
const OUTSIDE = ['old Node']
