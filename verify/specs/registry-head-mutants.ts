import type { Mutant } from '../model/mutant.ts'

const file = 'RegistryHead.tla'

/** One line of the specification each, and what no longer holds without it. */
export const REGISTRY_HEAD_MUTANTS: readonly Mutant[] = [
  {
    name: 'signed before the entries are synced',
    file,
    find: "durable' = Len(drive) \\* before anything is signed",
    replace: "durable' = durable",
    expect: 'OneRootPerSize',
  },
  {
    name: 'published before the checkpoint is synced',
    file,
    find: "durable' = Len(drive) \\* before anybody sees it",
    replace: "durable' = durable",
    expect: 'PublishedIsDurable',
  },
  {
    name: 'what a killed process left counts before it is synced',
    file,
    find: "durable' = Len(drive) \\* before anything of it counts",
    replace: "durable' = durable",
    expect: 'OneRootPerSize',
  },
  {
    name: 'HEAD is what the file beside the log says',
    file,
    find: 'first == Decide(Head(requests), HeadOf(log))',
    replace: 'first == Decide(Head(requests), cache)',
    expect: 'OneArtifactPerVersion',
  },
  {
    name: 'acknowledged as soon as it is written',
    file,
    find: 'committer\' = "entries-written"',
    replace: 'committer\' = "published"',
    expect: 'AcknowledgedSurvives',
  },
  {
    name: 'a commit is not compared with what it changes',
    file,
    find: '~InChain(request, head) /\\ IsChanged(request, head) ->',
    replace: 'FALSE ->',
    expect: 'OneOfTwoRivals',
  },
  {
    name: 'a committed proposal is not remembered',
    file,
    find: 'request \\in Proposals /\\ InChain(request, head) ->',
    replace: 'FALSE ->',
    expect: 'CommittedOnce',
  },
  {
    name: 'what the drive refused stays in the log',
    file,
    find: "drive' = SubSeq(drive, 1, durable)",
    replace: "drive' = drive",
    expect: 'OneArtifactPerVersion',
  },
  {
    name: 'a refused checkpoint is not tried again',
    file,
    find: '/\\ committer \\in {"entries-refused", "checkpoint-refused"}',
    replace: '/\\ committer \\in {"entries-refused"}',
    expect: 'liveness',
  },
]
