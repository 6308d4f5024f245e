/**
 * Items: what the registry says about one (kind, id). An item replaces the one before it and names it:
 *
 *   prev: null ◄── {kind, id, prev: null, …} ◄── {kind, id, prev: b3 of that, …} ◄── {kind, id, prev, deleted: true}
 *
 * `prev` is the hash of the whole item it replaces, that one's own `prev` included: a change made without having seen
 * the latest does not fit. After a removal the (kind, id) is free, and the next item has `prev` null again.
 */
import { type Address, addressOf, canonicalJson, type JsonValue } from '@cairn/wire'
import { FieldReader, isJsonObject, malformed, SHORT_TEXT, type TextRule } from './fields.ts'
import { readSignerSet, SIGNER_SET_ID, type SignerSetItem } from './signer-set.ts'

type DescribedItem<Kind extends string, Descriptor> = Descriptor & {
  readonly kind: Kind
  readonly id: string
  readonly prev: Address | null
}

/**
 * A name means an object: its address, and the media type where the signers vouch for one.
 *
 * `mutable: false` makes it a release, whose meaning is never changed and never removed; `true`, and no word of it, as
 * in items of 0.1, a channel, which may be given another.
 */
export type NameItem = DescribedItem<
  'name',
  { readonly manifest: Address; readonly type?: string; readonly mutable?: boolean }
>
type ServiceItem = DescribedItem<'service', { readonly endpoint: string; readonly title?: string }>
type NodeItem = DescribedItem<
  'node',
  { readonly identity_key: string; readonly addrs: readonly string[]; readonly region: string }
>
type RegionItem = DescribedItem<'region', { readonly title?: string }>
type UpstreamItem = DescribedItem<'upstream', { readonly route: string; readonly url: string }>

/** An item that stands: what the state holds. */
export type LiveItem = NameItem | ServiceItem | NodeItem | RegionItem | UpstreamItem | SignerSetItem
export type ItemKind = LiveItem['kind']
export type RemovedItem = {
  readonly kind: Exclude<ItemKind, 'signer_set'>
  readonly id: string
  readonly prev: Address
  readonly deleted: true
}
export type Item = LiveItem | RemovedItem

export const NAME_LENGTH_MAX = 128
export const NAME_FORM = /^[a-z0-9][a-z0-9._-]*@[a-z0-9._-]+$/
const NAME: TextRule = {
  pattern: new RegExp(`^(?=.{1,${NAME_LENGTH_MAX}}$)${NAME_FORM.source.slice(1)}`),
  says: 'a name such as site@1.0: a-z 0-9 . _ - on both sides of one @, at most 128 characters',
}
const PLAIN_ID: TextRule = {
  pattern: /^[a-z0-9][a-z0-9._:-]{0,127}$/,
  says: '1 to 128 of a-z 0-9 . _ : -, beginning with a letter or digit',
}
const ROOT_ID: TextRule = { pattern: /^root$/, says: `"${SIGNER_SET_ID}": there is one signer set` }
const MEDIA_TYPE: TextRule = { pattern: /^[\x20-\x7e]{1,255}$/, says: '1 to 255 printable ASCII characters' }
const WEB_URL: TextRule = {
  pattern: /^(?=.{1,2048}$)https?:\/\/[A-Za-z0-9.:[\]-]+(?:\/[\x21-\x7e]*)?$/,
  says: 'an http or https URL without user, at most 2048 characters',
}
const ROUTE: TextRule = { pattern: /^\/[\x21-\x7e]{0,255}$/, says: 'a path beginning with "/", at most 256 characters' }
const PEER_ADDRESS: TextRule = { pattern: /^[\x21-\x7e]{1,256}$/, says: '1 to 256 printable characters, no spaces' }
const MAX_PEER_ADDRESSES = 16
const IDENTITY_KEY_BYTES = 32

/** How each kind is spelled: the form of its id, the fields it must have, the fields it may have. */
const KINDS: Readonly<
  Record<
    ItemKind,
    { readonly id: TextRule; readonly required: readonly string[]; readonly optional: readonly string[] }
  >
> = {
  name: { id: NAME, required: ['manifest'], optional: ['type', 'mutable'] },
  service: { id: PLAIN_ID, required: ['endpoint'], optional: ['title'] },
  node: { id: PLAIN_ID, required: ['identity_key', 'addrs', 'region'], optional: [] },
  region: { id: PLAIN_ID, required: [], optional: ['title'] },
  upstream: { id: PLAIN_ID, required: ['route', 'url'], optional: [] },
  signer_set: { id: ROOT_ID, required: ['m', 'signers'], optional: [] },
}

const isItemKind = (kind: JsonValue | undefined): kind is ItemKind =>
  typeof kind === 'string' && Object.hasOwn(KINDS, kind)

/** The item a JSON value spells; anything else is refused with a sentence that says what to change. */
export function parseItem(value: JsonValue): Item {
  if (!isJsonObject(value)) throw malformed('An item must be a JSON object.')
  const { kind, id } = value
  if (!isItemKind(kind)) {
    throw malformed(`An item is of the kind ${Object.keys(KINDS).join(', ')}; this one is ${JSON.stringify(kind)}.`)
  }
  const what = typeof id === 'string' && id !== '' ? `The item ${kind} ${id.slice(0, 128)}` : `This ${kind} item`
  return Object.hasOwn(value, 'deleted') ? readRemoved(kind, value, what) : readLive(kind, value, what)
}

function readRemoved(kind: ItemKind, value: JsonValue, what: string): RemovedItem {
  const fields = new FieldReader(value, `${what}, a removal,`, ['kind', 'id', 'prev', 'deleted'], [])
  if (kind === 'signer_set') throw malformed('The signer set can be replaced, never removed.')
  if (fields.value('deleted') !== true) throw fields.refused('deleted', 'must be true where it is given')
  return { kind, id: fields.text('id', KINDS[kind].id), prev: fields.address('prev'), deleted: true }
}

function readLive(kind: ItemKind, value: JsonValue, what: string): LiveItem {
  const { id: rule, required, optional } = KINDS[kind]
  const fields = new FieldReader(value, what, ['kind', 'id', 'prev', ...required], optional)
  const id = fields.text('id', rule)
  const prev = fields.value('prev') === null ? null : fields.address('prev')
  switch (kind) {
    case 'name': {
      const type = fields.has('type') ? { type: fields.text('type', MEDIA_TYPE) } : {}
      return { kind, id, prev, manifest: fields.address('manifest'), ...type, ...readMutable(fields, prev) }
    }
    case 'service':
      return { kind, id, prev, endpoint: fields.text('endpoint', WEB_URL), ...readTitle(fields) }
    case 'node':
      return { kind, id, prev, ...readNode(fields) }
    case 'region':
      return { kind, id, prev, ...readTitle(fields) }
    case 'upstream':
      return { kind, id, prev, route: fields.text('route', ROUTE), url: fields.text('url', WEB_URL) }
    case 'signer_set':
      return { kind, id: SIGNER_SET_ID, prev, ...readSignerSet(fields) }
  }
}

function readMutable(fields: FieldReader, prev: Address | null): { readonly mutable?: boolean } {
  if (!fields.has('mutable')) return {}
  const mutable = fields.value('mutable')
  if (typeof mutable !== 'boolean') throw fields.refused('mutable', 'must be true or false')
  if (!mutable && prev !== null) throw fields.refused('mutable', 'can be false only where "prev" is null')
  return { mutable }
}

const readTitle = (fields: FieldReader): { readonly title?: string } =>
  fields.has('title') ? { title: fields.text('title', SHORT_TEXT) } : {}

function readNode(fields: FieldReader): Omit<NodeItem, 'kind' | 'id' | 'prev'> {
  const addrs = fields.list('addrs', 0, MAX_PEER_ADDRESSES).map((address) => {
    if (typeof address === 'string' && PEER_ADDRESS.pattern.test(address)) return address
    throw fields.refused('addrs', `has an entry that is not ${PEER_ADDRESS.says}`)
  })
  const identityKey = fields.base64url('identity_key', [IDENTITY_KEY_BYTES])
  return { identity_key: identityKey, addrs, region: fields.text('region', PLAIN_ID) }
}

/** Checks that `text` is a name; the error says what a name is. */
export function parseName(text: string): string {
  if (NAME.pattern.test(text)) return text
  throw malformed(`${JSON.stringify(text.slice(0, 160))} is not ${NAME.says}.`)
}

/** Whether this is a name that keeps its meaning for ever. */
export const isRelease = (item: Item | undefined): boolean =>
  item?.kind === 'name' && isLive(item) && item.mutable === false

/** What a new name is, unless its proposer says otherwise: one whose tag looks like a version is a release. */
export function isReleaseTag(name: string): boolean {
  return /@v?\d+(?:\.\d+){0,3}(?:-[a-z0-9._-]*)?$/.test(name)
}

export const isLive = (item: Item): item is LiveItem => !('deleted' in item)

/** What identifies an item: the kind and the id, in one text. No kind contains a space. */
export function itemKey({ kind, id }: { readonly kind: ItemKind; readonly id: string }): string {
  return `${kind} ${id}`
}

/** The hash of the whole item, `prev` included: what the next one names, and what the state's leaf holds. */
export function itemHash(item: Item): Address {
  return addressOf(canonicalJson(item))
}
