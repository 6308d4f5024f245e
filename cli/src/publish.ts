/**
 * `cairn publish PATH NAME`: a file or directory under a name, as far as the signer of this machine can bring it.
 *
 *     put ─▶ propose ─▶ sign, if the key here is one that is asked for ─▶ quorum met? commit, and where it is served
 *                                                                         not met?    who must sign, and how
 */
import { SystemClock } from '@cairn/kernel'
import { itemHash, type NameItem, type Payload, parseName, parsePayload, payloadHash } from '@cairn/names'
import { type Address, spellBytes, spellCount, toBase64url } from '@cairn/wire'
import type { CommandContext, CommandHandler, CommandOutcome } from './command.ts'
import { hashFile, hashTree, leftOut } from './hash.ts'
import { readKeyFile, signingKeyPath, signWith } from './key.ts'
import { isThere, localDirectory, type Skipped, targetStatOf } from './local-files.ts'
import { mutableFor } from './name.ts'
import { Progress } from './progress.ts'
import { linksOf, putPath, type StoredPath } from './put.ts'
import { connectionFlags, describeQuorum, formatItems } from './registry-format.ts'
import { quorumResult, readProposal } from './registry-proposal.ts'
import { type RegistryConnection, withRegistry } from './registry-service.ts'
import { findService, withIndex } from './service-client.ts'
import { withStorage } from './storage.ts'

type NameMeaning = Pick<NameItem, 'manifest' | 'type'>

export const publish: CommandHandler = async (context) => {
  const { given } = context
  const [path = '', text = ''] = given.operands
  const name = parseName(text)
  if (given.has('dry-run')) return await rehearse(context, path, name)
  const stored = await store(context, path)
  const type = given.text('type')
  const meaning = { manifest: stored.address, ...(type === undefined ? {} : { type }) }
  return await withRegistry(context, async (registry) => await give(context, registry, { name, meaning, stored }))
}

/** What would be published, without a change anywhere. */
async function rehearse(context: CommandContext, path: string, name: string): Promise<CommandOutcome> {
  const skipped: Skipped[] = []
  const isTree = (await targetStatOf(path)).isDirectory()
  const { id } = isTree
    ? await hashTree(localDirectory(path, { links: linksOf(context.given), skipped }))
    : await hashFile(path)
  if (skipped.length > 0) throw leftOut(`${path} cannot be published whole`, skipped)
  return await withRegistry(context, async (registry) => {
    const payload = await payloadFor(context, registry, name, { manifest: id })
    return {
      result: { name, address: id, payload: payload ?? null },
      data: `${id}\n`,
      message:
        payload === undefined
          ? `${name} is that already`
          : ['nothing was stored or proposed; it would be', ...formatItems(payload)].join('\n  '),
    }
  })
}

async function store(context: CommandContext, path: string): Promise<StoredPath> {
  return await withStorage(context, async (cairn, signal) => {
    const progress = new Progress(context.terminal, context.given, new SystemClock())
    let stored: StoredPath | undefined
    try {
      stored = await putPath(cairn, path, { context, progress, signal })
    } finally {
      progress.end(stored === undefined ? undefined : { bytes: stored.bytes, newBytes: stored.new_bytes })
    }
    // A website that lacks a file is not what anybody meant to sign.
    if (stored.skipped.length > 0) throw leftOut(`${path} was not published, for it is not whole`, stored.skipped)
    return stored
  })
}

interface Publication {
  readonly name: string
  readonly meaning: NameMeaning
  readonly stored: StoredPath
}

async function give(
  context: CommandContext,
  registry: RegistryConnection,
  { name, meaning, stored }: Publication,
): Promise<CommandOutcome> {
  const payload = await payloadFor(context, registry, name, meaning)
  const address = meaning.manifest
  const size = `${spellCount(stored.files, 'file')}, ${spellBytes(stored.bytes)}`
  if (payload === undefined) {
    const urls = await urlsOf(context, name, address, stored.kind)
    const { version } = (await registry.client.name(name, undefined, registry.call())) ?? { version: null }
    return {
      result: { name, address, status: 'unchanged', proposal_id: null, version, urls, quorum: null },
      data: linesOf(address, urls),
      message: `${name} is that already: ${size}`,
    }
  }
  const { proposal_id: id } = await registry.client.propose(payload, undefined, registry.call())
  const { quorum, warnings } = await signHere(context, registry, id, payload)
  if (!quorum.isMet) {
    const flags = connectionFlags(context.given)
    return {
      result: {
        name,
        address,
        status: 'waiting',
        proposal_id: id,
        version: null,
        urls: [],
        quorum: quorumResult(quorum),
      },
      data: `${address}\n`,
      message: [`${size} stored and proposed, not published yet`, ...formatItems(payload), describeQuorum(quorum)].join(
        '\n  ',
      ),
      warnings,
      next: [`npx cairn name approve ${id}${flags} --key FILE`, `npx cairn name commit ${id}${flags}`],
    }
  }
  const { version } = await registry.client.commit(id, registry.call())
  const urls = await urlsOf(context, name, address, stored.kind)
  return {
    result: { name, address, status: 'published', proposal_id: id, version, urls, quorum: quorumResult(quorum) },
    data: linesOf(address, urls),
    message: `published ${name}, version ${version} of the registry: ${size}`,
    warnings,
  }
}

function linesOf(address: Address, urls: readonly string[]): string {
  return [address, ...urls].map((line) => `${line}\n`).join('')
}

/** What there is to propose; nothing where the name means it already. */
async function payloadFor(
  { given }: CommandContext,
  { client, call }: RegistryConnection,
  name: string,
  meaning: NameMeaning,
): Promise<Payload | undefined> {
  const current = (await client.name(name, undefined, call()))?.item
  if (current?.manifest === meaning.manifest && current.type === meaning.type) return undefined
  const note = given.text('note')
  const prev = current === undefined ? null : itemHash(current)
  return parsePayload({
    items: [{ kind: 'name', id: name, prev, ...meaning, mutable: mutableFor(given, name, current) }],
    ...(note === undefined ? {} : { note }),
  })
}

/** Signs with the key of this machine, where it is one that is asked for; what is signed is computed here. */
async function signHere(context: CommandContext, registry: RegistryConnection, id: string, payload: Payload) {
  const shown = await readProposal(registry, id)
  const { quorum } = shown
  const path = await signingKeyPath(context)
  const isAsked = context.given.has('key') || (await isThere(path))
  if (shown.proposal.payload_b3 !== payloadHash(payload) || !isAsked) return { quorum, warnings: [] }
  const { key, warnings } = await readKeyFile(path)
  const { signer } = key
  if (!quorum.missing.includes(signer.id))
    return { quorum, warnings: [...warnings, `${path} is the key of ${signer.id}, who is no signer here`] }
  const approval = {
    signer_id: signer.id,
    sig: toBase64url(signWith(key, shown.input)),
    signed_at: new SystemClock().wall(),
  }
  return { quorum: await registry.client.approve(id, approval, registry.call()), warnings }
}

/** Where a browser finds it: nowhere, where this node has no edge. */
async function urlsOf(
  context: CommandContext,
  name: string,
  address: Address,
  kind: StoredPath['kind'],
): Promise<string[]> {
  // The name is committed: where it can be read is told if it can be found out, and is no failure if not.
  const edge = await findService(context, 'edge').catch(() => undefined)
  if (edge === undefined) return []
  // The edge asks the index, which hears of a commit a moment later; asked for the newest, it looks.
  await withIndex(
    context,
    async ({ client, call }) => await client.resolve(`name:${name}`, { fresh: true }, call()),
  ).catch(() => undefined)
  const base = edge.url.replace(/\/$/, '')
  return [kind === 'tree' ? `${base}/edge/assets/n/${name}/` : `${base}/edge/assets/b3/${address.slice('b3:'.length)}`]
}
