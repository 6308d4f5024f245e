/** Three people, three machines, two of them enough: how a name comes to mean something, and everything that does not count. */
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import { parseProposal, parseSignerKey, signingInput } from '@cairn/names'
import { addressOf, type JsonValue, toBase64url } from '@cairn/wire'
import { signWith } from '../src/key.ts'
import { main } from '../src/main.ts'
import { Capture } from './capture.ts'
import { InnerNode } from './inner-node.ts'
import { firstLine, NODE_WAIT_MS, type Ran, Workplace } from './processes.ts'
import { masked, Shell } from './shell.ts'

const CONTENT = addressOf(new TextEncoder().encode('the first site'))
const LATER = addressOf(new TextEncoder().encode('the second site'))

let place: Workplace
let node: InnerNode | undefined
let url = ''
let alice: Shell
let bob: Shell
let carol: Shell
let mallory: Shell

before(async () => {
  place = await Workplace.make()
  ;[alice, bob, carol, mallory] = await Promise.all([Shell.open(), Shell.open(), Shell.open(), Shell.open()])
})
after(async () => {
  for (const each of [alice, bob, carol, mallory, node, place]) await each?.[Symbol.asyncDispose]()
})

const path = (name: string): string => `${place.directory}/${name}`

/** Whoever runs the node, in this process. */
async function operator(...args: readonly string[]): Promise<Ran> {
  const terminal = new Capture()
  const code = await main([...args, '--data', path('.cairn')], terminal)
  return { code, data: terminal.data, words: terminal.words }
}

async function signIn(urls: Readonly<Record<string, readonly string[]>>): Promise<void> {
  url = urls['registry']?.[0] ?? ''
  const scopes = ['propose', 'approve', 'commit'].flatMap((verb) => ['--scope', `registry:${verb}`])
  const minted = await operator('token', 'mint', '-q', '--for', 'registry', ...scopes)
  assert.equal(minted.code, 0, minted.words)
  for (const each of [alice, bob, carol, mallory]) await each.signIn(url, minted.data)
}

/** The one thing on standard output, from a command that has to succeed. */
async function told(ran: Promise<Ran>): Promise<string> {
  const { code, data, words } = await ran
  assert.equal(code, 0, words)
  return data.trim()
}

async function refused(ran: Promise<Ran>, code: string, exit: number): Promise<string> {
  const { data } = await ran
  const { ok, error } = JSON.parse(data) as {
    ok: boolean
    error: { code: string; exit_code: number; detail: string } | null
  }
  assert.deepEqual([ok, error?.code, error?.exit_code], [false, code, exit], error?.detail ?? 'it was not refused')
  return error?.detail ?? ''
}

test('each makes a key that never leaves their machine, and the node begins with the public halves', async () => {
  const lines = await Promise.all([
    told(alice.quick('key', 'new', '--id', 'alice')),
    told(bob.quick('key', 'new', '--id', 'bob')),
    told(carol.quick('key', 'new', '--id', 'carol', '--algo', 'ml-dsa-44')),
  ])
  const roots = `{"m": 2, "signers": [\n${lines.join(',\n')}\n]}\n`
  await writeFile(path('roots.json'), roots)
  const config = [
    '[registry.bootstrap]',
    'origin = "registry.example.org/cairn"',
    `trust_roots_path = ${JSON.stringify(path('roots.json'))}`,
    `trust_roots_hash = "${addressOf(new TextEncoder().encode(roots))}"`,
  ]
  await writeFile(path('cairn.toml'), `${config.join('\n')}\n`)
  node = await InnerNode.start({ data: path('.cairn'), config: path('cairn.toml') })
  await signIn(node.urls)
  const set = JSON.parse(await told(bob.quick('registry', 'signers'))) as { m: number; signers: { id: string }[] }
  assert.deepEqual([set.m, set.signers.map(({ id }) => id)], [2, ['alice', 'bob', 'carol']])
})

let proposal = ''

test('one proposes: what is to be signed and who has to is said', async () => {
  const ran = await alice.run(
    'name',
    'propose',
    'site@1.0',
    CONTENT,
    '--type',
    'text/html',
    '--channel',
    '--note',
    'first',
  )
  assert.equal(ran.code, 0, ran.words)
  assert.match(ran.data, /^p_[0-9a-f]{32}\n$/)
  proposal = ran.data.trim()
  const flags = '--node URL --token-file SHELL/token'
  assert.deepEqual(masked(ran.words).split('\n'), [
    '✔ proposed',
    '  site@1.0 means b3:… of type text/html  (new channel)',
    '  note: first',
    '  in the log registry.example.org/cairn/…, until TIME',
    '  What is signed:',
    '    cairn:registry:v1',
    '    {"expires_at":TIME,"genesis":"b3:…","origin":"registry.example.org/cairn/…","payload_b3":"b3:…","proposal_id":"p_…","signer_set_hash":"b3:…"}',
    '  It needs 2 approvals and has 0; ask 2 of alice, bob, carol.',
    `  Next:  npx cairn name approve p_… ${flags} --key FILE`,
    '',
  ])
})

test('too early, the commit says who is missing', async () => {
  const detail = await refused(alice.quick('name', 'commit', proposal, '--json'), 'QuorumFailed', 8)
  assert.equal(detail, 'It needs 2 approvals and has 0; ask 2 of alice, bob, carol.')
})

test('two approve, each with their own key, after seeing what they sign', async () => {
  const first = await alice.quick('name', 'approve', '--yes', proposal)
  assert.equal(first.code, 0, first.words)
  assert.equal(first.data, '')
  assert.deepEqual(masked(first.words).split('\n'), [
    '  alice (ed25519, SHELL/home/.config/cairn/signer.key) signs:',
    '  site@1.0 means b3:… of type text/html  (new channel)',
    '  note: first',
    '  in the log registry.example.org/cairn/…, until TIME',
    '  What is signed:',
    '    cairn:registry:v1',
    '    {"expires_at":TIME,"genesis":"b3:…","origin":"registry.example.org/cairn/…","payload_b3":"b3:…","proposal_id":"p_…","signer_set_hash":"b3:…"}',
    '  site@1.0: nothing',
    '    becomes b3:…',
    '  ! what site@1.0 means now is believed, not proved: name a trust file with --trust FILE',
    '  ! the files of site@1.0 were not compared: no storage can be asked from here',
    '✔ approved as alice',
    '  It needs 2 approvals and has 1; ask 1 of bob, carol.',
    '  Next:  npx cairn name approve p_… --node URL --token-file SHELL/token --key FILE',
    '',
  ])
  const second = await carol.quick('name', 'approve', '--yes', proposal)
  assert.equal(second.code, 0, second.words)
  assert.match(
    masked(second.words),
    /✔ approved as carol\n {2}It needs 2 approvals and has 2\.\n {2}Next: {2}npx cairn name commit p_… /,
  )
})

test('what does not count is refused, each with its own code', async () => {
  const open = await told(alice.quick('name', 'propose', '-q', 'other@1', CONTENT))
  assert.equal((await mallory.quick('key', 'new', '--id', 'mallory')).code, 0)
  await refused(mallory.quick('name', 'approve', '--yes', open, '--json'), 'NotASigner', 7)
  await refused(alice.quick('name', 'approve', '--yes', proposal, '--json'), 'DuplicateApproval', 8)
  // A key of one's own under somebody else's name.
  assert.equal((await mallory.quick('key', 'new', mallory.path('bob.key'), '--id', 'bob')).code, 0)
  await refused(
    mallory.quick('name', 'approve', '--yes', open, '--key', mallory.path('bob.key'), '--json'),
    'InvalidSig',
    4,
  )
  await refused(alice.quick('name', 'approve', '--yes', `p_${'0'.repeat(32)}`, '--json'), 'NotFound', 3)
  await refused(alice.quick('name', 'approve', 'nonsense', '--json'), 'usage', 2)
  // Signatures of alice's, but of other bytes: made for another proposal, and for another log.
  const elsewhere = (json: { origin: string }): JsonValue => ({
    ...json,
    origin: 'elsewhere.example.org/0000000000000000',
  })
  assert.deepEqual(await replayed(open, proposal, (json) => json), [422, 'InvalidSig'])
  assert.deepEqual(await replayed(open, open, elsewhere), [422, 'InvalidSig'])
})

/** Sends alice's signature of the signing input of `signed`, changed, as her approval of `target`. */
async function replayed(target: string, signed: string, change: (json: { origin: string }) => JsonValue) {
  const shown = (await (await fetch(`${url}/registry/proposals/${signed}`)).json()) as { signing_input: string }
  const { origin, genesis, ...terms } = JSON.parse(shown.signing_input.split('\n')[1]!) as Record<string, string>
  const changed = change({ origin: origin! }) as { origin: string }
  const log = { origin: changed.origin, genesis: genesis! } as Parameters<typeof signingInput>[0]
  const key = parseSignerKey(await readFile(alice.path('home/.config/cairn/signer.key')))
  const sig = toBase64url(signWith(key, signingInput(log, parseProposal(terms))))
  const token = (await readFile(alice.path('token'), 'utf8')).trim()
  const answer = await fetch(`${url}/registry/approvals/${target}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ signer_id: 'alice', sig }),
  })
  return [answer.status, ((await answer.json()) as { code: string }).code]
}

test('anybody with the right to commits it, once, however often asked', async () => {
  const ran = await bob.quick('name', 'commit', proposal)
  assert.equal(ran.code, 0, ran.words)
  assert.match(ran.data, /^1 {2}b3:[0-9a-f]{64}\n$/)
  assert.deepEqual(masked(ran.words).split('\n'), [
    '✔ committed as version 1, entry 5 of the log',
    '  site@1.0 means b3:… of type text/html  (new channel)',
    '  Next:  npx cairn name show site@1.0 --node URL --token-file SHELL/token',
    '',
  ])
  assert.equal((await alice.quick('name', 'commit', '-q', proposal)).data, ran.data)
  await refused(bob.quick('name', 'approve', '--yes', proposal, '--json'), 'AlreadyCommitted', 8)
})

test('what it means, who said so, and when it meant what', async () => {
  const shown = await carol.quick('name', 'show', 'site@1.0')
  assert.equal(shown.code, 0, shown.words)
  assert.deepEqual(masked(shown.data).split('\n'), [
    'name         site@1.0',
    'manifest     b3:…',
    'kind         channel: it may be given another meaning',
    'type         text/html',
    'version      1',
    'committed    TIME',
    'approved by  alice, carol',
    '',
  ])
  assert.ok(shown.data.includes(CONTENT))
  const second = await told(bob.quick('name', 'propose', '-q', 'site@1.0', LATER))
  for (const each of [bob, carol]) assert.equal((await each.quick('name', 'approve', '--yes', '-q', second)).code, 0)
  assert.equal((await bob.quick('name', 'commit', '-q', second)).code, 0)
  assert.ok((await told(alice.quick('name', 'show', 'site@1.0'))).includes(LATER))
  assert.ok((await told(alice.quick('name', 'show', 'site@1.0', '--at', '1'))).includes(CONTENT))
  const logged = masked(await told(alice.quick('name', 'log', 'site@1.0')))
  assert.deepEqual(logged.split('\n'), [
    '2  TIME  bob, carol',
    '    site@1.0 means b3:…  (replaces the item b3:…)',
    '1  TIME  alice, carol',
    '    site@1.0 means b3:… of type text/html  (new channel)',
  ])
  assert.match(
    await told(alice.quick('name', 'log')),
    /^2 [\s\S]*\n1 [\s\S]*\n0 {2}\S+ {2}genesis\n {4}the signers are 2 of 3/,
  )
  const page = await alice.quick('name', 'log', '--limit', '1')
  assert.match(page.words, /Next: {2}npx cairn name log .*--before 2\n$/)
  assert.match((await alice.quick('name', 'log', '--limit', '1', '--before', '2')).data, /^1 /)
  assert.equal((await alice.quick('name', 'show', 'nothing@1')).code, 3)
  assert.equal((await alice.quick('name', 'show', 'site@1.0', '--at', '0')).code, 3)
})

test('two proposals for one name: the second has not seen the first', async () => {
  const rivals = [LATER, CONTENT].map(
    async (address) => await told(bob.quick('name', 'propose', '-q', 'race@1', address, '--channel')),
  )
  const [one, two] = await Promise.all(rivals)
  for (const each of [alice, bob])
    for (const rival of [one, two]) assert.equal((await each.quick('name', 'approve', '--yes', '-q', rival!)).code, 0)
  assert.equal((await bob.quick('name', 'commit', '-q', one!)).code, 0)
  const { code, words } = await bob.quick('name', 'commit', two!)
  assert.equal(code, 8)
  assert.match(words, /name race@1 has changed[\s\S]*Next: {2}npx cairn name propose NAME ADDRESS/)
})

test('the proof is carried away and verified offline', async () => {
  const trusted = await alice.quick('registry', 'trust', '-o', alice.path('trust.json'))
  assert.equal(trusted.code, 0, trusted.words)
  assert.match(masked(trusted.words), /^✔ registry\.example\.org\/cairn\/…, as URL says; compare it/)
  const shown = await alice.run('name', 'show', 'site@1.0', '--proof', 'site.proof')
  assert.match(shown.words, /its proof is in site\.proof\n {2}Next: {2}npx cairn verify-proof site\.proof --trust FILE/)
  const [proof, trust] = await Promise.all([readFile(alice.path('site.proof')), readFile(alice.path('trust.json'))])

  await using stranger = await Shell.open()
  await writeFile(stranger.path('site.proof'), proof)
  await writeFile(stranger.path('trust.json'), trust)
  const untrusting = await stranger.quick('verify-proof', stranger.path('site.proof'))
  assert.equal(untrusting.code, 4)
  assert.match(untrusting.data, /^verdict +consistent, NOT verified\n/)
  const verified = await stranger.run('verify-proof', 'site.proof', '--trust', 'trust.json', '--max-age', '1h')
  assert.equal(verified.code, 0, verified.words)
  assert.match(verified.data, new RegExp(`^verdict +verified\\n.*\\nsays +site@1\\.0 means ${LATER} at version 3\\n`))
  assert.match(verified.data, /approvals +Version 3 and every earlier commit in the proof has its quorum/)

  const text = proof.toString()
  const forged = Buffer.from(text.replaceAll(LATER, CONTENT))
  await writeFile(stranger.path('site.proof'), forged)
  const kept = [stranger.path('site.proof'), '--trust', stranger.path('trust.json')]
  const tampered = await stranger.quick('verify-proof', ...kept)
  assert.equal(tampered.code, 4)
  assert.match(tampered.words, /is no proof: The proof file is damaged/)
  assert.equal((await alice.quick('name', 'show', 'site@1.0', '--proof', alice.path('site.proof'))).code, 8, 'kept')
})

test('the whole log is read and computed again, and what was seen is remembered', async () => {
  const trust = alice.path('trust.json')
  const untrusting = await bob.quick('registry', 'verify', '--json')
  const { result, error } = JSON.parse(untrusting.data) as { result: { verdict: string }; error: { code: string } }
  assert.deepEqual([untrusting.code, result.verdict, error.code], [4, 'consistent', 'not_verified'])
  const first = await bob.run('registry', 'verify', url, '--trust', trust)
  assert.equal(first.code, 0, first.words)
  assert.deepEqual(masked(first.data).split('\n'), [
    'verdict      verified',
    'log          registry.example.org/cairn/…',
    'says         4 versions, the newest is 3, b3:…',
    'checked      checkpoint_signature  registry.example.org/cairn/… signed the checkpoint of size 17: registry.example.org/cairn/… (ed25519), registry.example.org/cairn/…/time (ed25519-cosignature).',
    '             entries               17 entries read; each has the hash its tile says.',
    '             tiles                 Of 1 tile every hash is the one the entries make.',
    '             root                  The tree of the 17 entries has the root of the checkpoint.',
    '             replay                5 proposals, 8 approvals, 4 versions, 1 signer set: every signature, quorum, chain and state root computed again.',
    '             head                  HEAD, version 3, is what the log makes it.',
    'not checked  witnesses             A split view is not excluded: the trust file has no witness policy.',
    '             age                   How old the checkpoint is was not asked.',
    '             pin                   Nothing of this log was seen here before.',
    '',
  ])
  assert.match(
    masked(first.words),
    /^✔ every entry up to 17 was read and holds; remembered in SHELL\/home\/\.local\/state\/cairn\/pins\/[0-9a-f]{32}\.json\n$/,
  )
  const again = await bob.quick('registry', 'verify')
  assert.equal(again.code, 0, again.words)
  assert.match(again.data, /pin +The first 17 entries are those that were seen before\./)
})

test('signers change by the word of those in force, and every new key shows that somebody has it', async () => {
  const waiting = await told(alice.quick('name', 'propose', '-q', 'waiting@1', CONTENT))
  const dave = JSON.parse(await told(mallory.quick('key', 'new', mallory.path('dave.key'), '--id', 'dave'))) as object
  const { m, signers } = JSON.parse(await told(alice.quick('registry', 'signers'))) as {
    m: number
    signers: { id: string }[]
  }
  const next = { m, signers: [...signers.filter(({ id }) => id !== 'carol'), dave] }
  await writeFile(alice.path('signers.json'), JSON.stringify(next))
  const ran = await alice.quick('registry', 'rotate', alice.path('signers.json'), '--note', 'carol leaves')
  assert.equal(ran.code, 0, ran.words)
  const rotation = ran.data.trim()
  assert.deepEqual(masked(ran.words).split('\n').slice(0, 12), [
    '… the keys of carol count no more once this is committed',
    '… the new keys of dave have to approve this too',
    '… what is open when this is committed has to be proposed again',
    '✔ proposed',
    '  the signers are 2 of 3  (replaces the item b3:…)',
    `    alice  ed25519  ${keyOf(signers, 'alice')}`,
    `    bob  ed25519  ${keyOf(signers, 'bob')}`,
    `    dave  ed25519  ${(dave as { key: string }).key}`,
    '  note: carol leaves',
    '  in the log registry.example.org/cairn/…, until TIME',
    '  What is signed:',
    '    cairn:registry:v1',
  ])
  assert.match(ran.words, /ask 2 of alice, bob, carol; the new keys of dave have not signed\./)
  for (const each of [alice, bob]) assert.equal((await each.quick('name', 'approve', '--yes', '-q', rotation)).code, 0)
  const detail = await refused(alice.quick('name', 'commit', rotation, '--json'), 'QuorumFailed', 8)
  assert.match(detail, /the new keys of dave have not signed/)
  const incoming = await mallory.quick('name', 'approve', '--yes', rotation, '--key', mallory.path('dave.key'))
  assert.equal(incoming.code, 0, incoming.words)
  assert.equal((await alice.quick('name', 'commit', '-q', rotation)).code, 0)

  await refused(bob.quick('name', 'approve', '--yes', waiting, '--json'), 'StaleSignerSet', 8)
  const fresh = await told(alice.quick('name', 'propose', '-q', 'fresh@1', CONTENT, '--channel'))
  await refused(carol.quick('name', 'approve', '--yes', fresh, '--json'), 'RevokedKey', 7)
  for (const key of [alice.path('home/.config/cairn/signer.key'), mallory.path('dave.key')])
    assert.equal((await alice.quick('name', 'approve', '--yes', '-q', fresh, '--key', key)).code, 0)
  assert.equal((await alice.quick('name', 'commit', '-q', fresh)).code, 0)
  const verified = await bob.quick('registry', 'verify')
  assert.equal(verified.code, 0, verified.words)
  assert.match(verified.data, /2 signer sets: every signature/)
  // Somebody who remembers a smaller log is shown that this one continues it.
  assert.equal((await bob.quick('name', 'show', 'site@1.0', '--proof', bob.path('later.proof'))).code, 0)
  assert.equal((await bob.quick('verify-proof', bob.path('later.proof'))).code, 0)
})

test('a version is overruled only while it is the newest, and a name can come to mean nothing', async () => {
  const overruling = async (): Promise<string> =>
    await told(alice.quick('name', 'propose', '-q', 'fresh@1', LATER, '--supersede', 'it was the wrong build'))
  const [stale, overruled] = [await overruling(), await overruling()]
  const asked = await alice.quick('name', 'approve', '--yes', stale)
  assert.match(masked(asked.words), /only while HEAD is b3:…, because: it was the wrong build\n/)
  assert.equal((await alice.quick('name', 'approve', '--yes', '-q', overruled)).code, 0)
  for (const id of [stale, overruled]) assert.equal((await bob.quick('name', 'approve', '--yes', '-q', id)).code, 0)
  assert.equal((await alice.quick('name', 'commit', '-q', overruled)).code, 0)
  // HEAD is another now, and the item it replaces has changed as well.
  await refused(alice.quick('name', 'commit', stale, '--json'), 'ChainMismatch', 8)
  assert.ok((await told(alice.quick('name', 'show', 'fresh@1'))).includes(LATER))

  await refused(alice.quick('name', 'propose', 'never@1', '--remove', '--json'), 'no_name', 3)
  await refused(alice.quick('name', 'propose', 'fresh@1', LATER, '--remove', '--json'), 'usage', 2)
  await refused(alice.quick('name', 'propose', 'fresh@1', '--json'), 'usage', 2)
  const removal = await alice.quick('name', 'propose', 'fresh@1', '--remove')
  assert.match(masked(removal.words), /✔ proposed\n {2}name fresh@1 is removed\n/)
  const gone = removal.data.trim()
  for (const each of [alice, bob]) assert.equal((await each.quick('name', 'approve', '--yes', '-q', gone)).code, 0)
  assert.equal((await alice.quick('name', 'commit', '-q', gone)).code, 0)
  assert.equal((await alice.quick('name', 'show', 'fresh@1')).code, 3)
  assert.match(
    masked(await told(alice.quick('name', 'log', 'fresh@1'))),
    /^\d+ {2}TIME {2}alice, bob\n {4}name fresh@1 is removed/,
  )
})

test('standard output carries data only, and --json is one object', async () => {
  const again = await told(alice.quick('name', 'propose', '-q', 'again@1', CONTENT))
  await writeFile(alice.path('same.json'), await told(alice.quick('registry', 'signers', '-q')))
  const runs: [readonly string[], RegExp][] = [
    [['name', 'propose', 'some@1', CONTENT], /^p_[0-9a-f]{32}\n$/],
    [['name', 'approve', '--yes', again], /^$/],
    [['name', 'show', 'site@1.0'], /^(?:[a-z ]+ {2}\S.*\n)+$/],
    [['name', 'log', 'site@1.0'], /^(?:\d+ {2}\S+ {2}\S.*\n(?: {4}\S.*\n)+)+$/],
    [['registry', 'signers'], /^\{\n {2}"m": 2,\n[\s\S]*\}\n$/],
    [['registry', 'rotate', alice.path('same.json')], /^p_[0-9a-f]{32}\n$/],
    [['registry', 'trust'], /^\{"genesis":.*\}\n$/],
    [['registry', 'verify', '--trust', alice.path('trust.json')], /^verdict +verified\n(?:.*\n)+$/],
    [['verify-proof', bob.path('later.proof'), '--trust', alice.path('trust.json')], /^verdict +verified\n(?:.*\n)+$/],
    [['name', 'commit', again], /^\d+ {2}b3:[0-9a-f]{64}\n$/],
  ]
  for (const [args, data] of runs) {
    // Whoever approves twice is refused; everything else can be done again.
    const who = args[1] === 'approve' ? [alice, bob] : [alice, alice]
    const isOld = args[0] === 'verify-proof'
    const plain = await (isOld ? bob : who[0]!).quick(...args, '-q')
    assert.deepEqual([plain.code, plain.words], [0, ''], args.join(' '))
    assert.match(plain.data, data, args.join(' '))
    const json = await (isOld ? bob : who[1]!).quick(...args, '--json')
    assert.deepEqual([json.code, json.words], [0, ''], args.join(' '))
    assert.match(json.data, /^\{.*\}\n$/)
    const envelope = JSON.parse(json.data) as { schema: string; ok: boolean; result: unknown }
    assert.deepEqual(Object.keys(envelope), ['schema', 'ok', 'result', 'error', 'warnings', 'next'])
    const name = args[0] === 'verify-proof' ? 'verify-proof' : args.slice(0, 2).join('.')
    assert.deepEqual([envelope.schema, envelope.ok], [`cairn.${name}/1`, true])
    assert.ok(envelope.result !== null)
  }
})

function keyOf(signers: readonly { id: string }[], id: string): string {
  return String((signers.find((signer) => signer.id === id) as { key?: string } | undefined)?.key)
}

test('a token that may not is told so', async () => {
  const minted = await operator('token', 'mint', '-q', '--for', 'registry', '--scope', 'registry:approve')
  await writeFile(mallory.path('token'), minted.data)
  const { code, words } = await mallory.quick('name', 'propose', 'site@2', CONTENT)
  assert.equal(code, 7)
  assert.match(words, /refuses the token in \S+token: /)
})

test('a day later nobody can approve or commit what was proposed, also after a restart', async () => {
  const late = await told(alice.quick('name', 'propose', '-q', 'late@1', CONTENT))
  assert.equal((await alice.quick('name', 'approve', '--yes', '-q', late)).code, 0)
  await node?.stop()
  const tomorrow = 'const now = Date.now; Date.now = () => now() + 24.5 * 3600 * 1000'
  const environment = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(tomorrow)}` }
  const later = place.launch(['start', '--port-base', '0'], { environment, waitMs: NODE_WAIT_MS })
  await signIn((JSON.parse(await firstLine(later)) as { urls: Record<string, string[]> }).urls)
  await refused(bob.quick('name', 'approve', '--yes', late, '--json'), 'Expired', 8)
  await refused(bob.quick('name', 'commit', late, '--json'), 'Expired', 8)
  // What was seen before the restart is still there.
  assert.equal((await bob.quick('registry', 'verify')).code, 0)
})

test('a registry that shows less than before is refused', async () => {
  await using another = await InnerNode.start({ data: path('other') })
  const other = another.urls['registry']?.[0] ?? ''
  const ran = await bob.quick('registry', 'verify', other, '--trust', alice.path('trust.json'), '--json')
  assert.equal(ran.code, 4)
  assert.equal((JSON.parse(ran.data) as { error: { code: string } }).error.code, 'other_origin')
})
