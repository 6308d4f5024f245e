/** Proof files, made of the published checkpoint: for a version, and for what a name means now. */

import { registryAnswers } from '@cairn/api'
import { type RouteTable, route } from '@cairn/http'
import {
  decodeLeaf,
  encodeProof,
  itemKey,
  type NameItem,
  type Proof,
  type ProvenCommit,
  parseArtifact,
} from '@cairn/names'
import { consistencyProof, type HashReader, inclusionProof } from '@cairn/tlog'
import type { IngressResponse } from '@cairn/transport'
import { parseJson } from '@cairn/wire'
import { z } from 'zod'
import type { Published } from '../domain/published.ts'
import { noSuchSize, noSuchVersion } from '../errors.ts'
import type { RegistryParts } from '../parts.ts'
import { driveErrors, nameParams, REVALIDATED, treeSize, version } from './params.ts'

const query = z.strictObject({ from: treeSize.optional() })
const responses = { 200: { description: 'A proof file.', schema: registryAnswers.proof } }

export function proofRoutes(parts: RegistryParts): RouteTable {
  return [
    route({
      method: 'GET',
      path: '/registry/proof/:version',
      lane: 'inline',
      summary:
        'A file that proves a version by itself: the signers from genesis on, their approvals, and its place in the log. With `from`, also that the log continues the tree of that size.',
      params: z.strictObject({ version }),
      query,
      responses,
      errors: { Malformed: 400, NotFound: 404, Pruned: 410, ...driveErrors },
      handler: async ({ params, query: { from } }) => {
        const snapshot = parts.published.value
        if (params.version > snapshot.head.version) throw noSuchVersion(params.version, snapshot.head.version)
        return answer(await versionProof(parts, snapshot, params.version, from))
      },
    }),
    route({
      method: 'GET',
      path: '/registry/proof/name/:name',
      lane: 'inline',
      summary: 'The same for what a name means now, or that it does not exist.',
      params: nameParams,
      query,
      responses,
      errors: { Malformed: 400, NotFound: 404, ...driveErrors },
      handler: async ({ params, query: { from } }) =>
        answer(await nameProof(parts, parts.published.value, params.name, from)),
    }),
  ]
}

function answer(proof: Proof): IngressResponse {
  const headers = ['Content-Type', 'application/json', 'Cache-Control', REVALIDATED]
  return { status: 200, headers, body: encodeProof(proof) }
}

async function versionProof(
  parts: RegistryParts,
  snapshot: Published,
  wanted: number,
  from: number | undefined,
): Promise<Proof> {
  const hashes = parts.log.hashes(snapshot.size)
  const { signerSet } = await parts.archive.artifact(wanted)
  return {
    type: 'version',
    version: wanted,
    checkpoint: snapshot.note,
    commits: await provenCommits(parts, snapshot, hashes, [wanted]),
    signerSet: signerSet(),
    ...(await continued(snapshot, hashes, from)),
  }
}

async function nameProof(
  parts: RegistryParts,
  snapshot: Published,
  name: string,
  from: number | undefined,
): Promise<Proof> {
  const { head, state, size, note } = snapshot
  const hashes = parts.log.hashes(size)
  const item = state.get('name', name)
  const changed = parts.ledger.changedBy(itemKey({ kind: 'name', id: name }), head.version)
  const versions = item === undefined || changed === undefined ? [head.version] : [changed, head.version]
  const leaf = decodeLeaf(await parts.archive.entry(size - 1))
  return {
    type: 'name',
    name,
    item: item?.kind === 'name' ? (item satisfies NameItem) : null,
    itemProof: state.prove('name', name),
    lastLeaf: { leaf, inclusion: await inclusionProof(size - 1, size, hashes) },
    checkpoint: note,
    commits: await provenCommits(parts, snapshot, hashes, versions),
    signerSet: state.prove('signer_set', 'root'),
    ...(await continued(snapshot, hashes, from)),
  }
}

/** Genesis, every change of signers up to the last of `versions`, and these; each with its place in the log. */
async function provenCommits(
  { ledger, archive }: RegistryParts,
  { size }: Published,
  hashes: HashReader,
  versions: readonly number[],
): Promise<ProvenCommit[]> {
  const last = Math.max(...versions)
  const wanted = new Set([...ledger.signerSetVersions().filter((each) => each <= last), ...versions])
  const commits: ProvenCommit[] = []
  for (const each of [...wanted].sort((a, b) => a - b)) {
    const { log_index: index } = ledger.facts(each)
    const { bytes } = await archive.artifact(each)
    const inclusion = await inclusionProof(index, size, hashes)
    commits.push({ artifact: parseArtifact(parseJson(bytes)), index, inclusion })
  }
  return commits
}

async function continued(
  { size }: Published,
  hashes: HashReader,
  from: number | undefined,
): Promise<Pick<Proof, 'consistency'>> {
  if (from === undefined) return {}
  if (from > size) throw noSuchSize(from, size)
  return { consistency: { from, hashes: await consistencyProof(from, size, hashes) } }
}
