---------------------------- MODULE RegistryHead ----------------------------
(***************************************************************************)
(* HEAD of the registry: compare-and-set over a hash chain in an append-   *)
(* only log, with power cuts, kills and a drive that refuses.              *)
(*                                                                         *)
(*   ask --> decide --> entries --> sync --> sign --> checkpoint --> sync  *)
(*             |                      |                               |    *)
(*             `- against HEAD        `- refused: nothing of it    publish *)
(*                as the batch           counts                       |    *)
(*                leaves it                                      acknowledge*)
(*                                                                         *)
(*   crash (at any moment) --> recover: what is on the drive counts, is    *)
(*   synced, and is signed if no checkpoint covers it                      *)
(*                                                                         *)
(* A hash is what it is a hash of: the hash of a version is the sequence   *)
(* of all proposals up to it, the root of a tree is the sequence of its    *)
(* entries. So two artifacts differ exactly if their hashes do.            *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Proposals,  \* approved already: what commits race for
    Rivals,     \* sets of them that change one item from one state: after the first the others are refused
    Notes,      \* audit heads: entries that never move HEAD
    BatchMax,   \* requests decided together
    CrashMax,   \* power cuts and kills
    RefusalMax  \* syncs the drive refuses

VARIABLES
    drive,      \* the journal: entries and checkpoints, in the order written
    durable,    \* how many of them a power cut cannot take
    entries,    \* in memory: the entries that count
    committer,  \* where the one writer stands
    batch,      \* what it has decided and not answered yet
    published,  \* what readers are answered: HEAD, and the size signed for it
    cache,      \* HEAD as it was last written down beside the log
    answer,     \* what the asker of each request was told
    signed,     \* history: every (size, root) a key of the log was used for
    told,       \* history: every HEAD a reader may have seen
    crashes,
    refusals

vars == <<drive, durable, entries, committer, batch, published, cache, answer, signed, told, crashes, refusals>>

Requests == Proposals \cup Notes
Genesis == << >>
None == "none"
Refused == "refused"

(***************************************************************************)
(* The log                                                                 *)
(***************************************************************************)
IsEntry(record) == record.kind # "checkpoint"
Entries(records) == SelectSeq(records, IsEntry)
IsCommit(record) == record.kind = "commit"
Commits(log) == SelectSeq(log, IsCommit)

HeadOf(log) == IF Commits(log) = << >> THEN Genesis ELSE Commits(log)[Len(Commits(log))].head

Checkpoints(records) == SelectSeq(records, LAMBDA record: record.kind = "checkpoint")
SignedSize(records) ==
    LET found == Checkpoints(records) IN IF found = << >> THEN 0 ELSE found[Len(found)].size

InChain(request, head) == \E at \in 1..Len(head): head[at] = request
IsPrefix(short, long) == Len(short) <= Len(long) /\ SubSeq(long, 1, Len(short)) = short

(***************************************************************************)
(* Deciding: each request against HEAD as those before it leave it         *)
(***************************************************************************)
IsChanged(proposal, head) == \E rivals \in Rivals: proposal \in rivals /\ \E at \in 1..Len(head): head[at] \in rivals

\* What becomes of one request: an entry, an answer that is known, or a refusal.
Decide(request, head) ==
    CASE request \in Notes -> [entry |-> <<[kind |-> "note", request |-> request, head |-> head]>>, answer |-> "noted"]
      [] request \in Proposals /\ InChain(request, head) -> [entry |-> << >>, answer |-> "committed"]
      [] request \in Proposals /\ ~InChain(request, head) /\ IsChanged(request, head) ->
            [entry |-> << >>, answer |-> Refused]
      [] OTHER ->
            [entry |-> <<[kind |-> "commit", request |-> request, head |-> Append(head, request)]>>,
             answer |-> "committed"]

RECURSIVE DecideAll(_, _)
DecideAll(requests, log) ==
    IF requests = << >> THEN [entries |-> << >>, answers |-> << >>]
    ELSE LET first == Decide(Head(requests), HeadOf(log))
             rest == DecideAll(Tail(requests), log \o first.entry)
         IN  [entries |-> first.entry \o rest.entries,
              answers |-> <<[request |-> Head(requests), answer |-> first.answer]>> \o rest.answers]

\* Whoever has no answer asks, and asks again after a crash or a refusal of the drive. Which requests have come when the
\* Committer looks, and in which order, is anything.
Waiting == {request \in Requests: answer[request] = None}
Batches == {line \in UNION {[1..size -> Waiting]: size \in 1..BatchMax}:
               \A i, j \in DOMAIN line: i # j => line[i] # line[j]}

Nothing == [entries |-> << >>, answers |-> << >>]

(***************************************************************************)
(* The Committer                                                           *)
(***************************************************************************)
Take ==
    /\ committer = "idle"
    /\ \E line \in Batches: batch' = DecideAll(line, entries)
    /\ committer' = IF batch'.entries = << >> THEN "published" ELSE "decided"
    /\ UNCHANGED <<drive, durable, entries, published, cache, answer, signed, told, crashes, refusals>>

WriteEntries ==
    /\ committer = "decided"
    /\ drive' = drive \o batch.entries
    /\ committer' = "entries-written"
    /\ UNCHANGED <<durable, entries, batch, published, cache, answer, signed, told, crashes, refusals>>

SyncEntries ==
    /\ committer = "entries-written"
    /\ durable' = Len(drive) \* before anything is signed
    /\ entries' = entries \o batch.entries
    /\ committer' = "entries-synced"
    /\ UNCHANGED <<drive, batch, published, cache, answer, signed, told, crashes, refusals>>

Sign ==
    /\ committer = "entries-synced"
    /\ signed' = signed \cup {[size |-> Len(entries), root |-> entries]}
    /\ committer' = "signed"
    /\ UNCHANGED <<drive, durable, entries, batch, published, cache, answer, told, crashes, refusals>>

WriteCheckpoint ==
    /\ committer = "signed"
    /\ drive' = Append(drive, [kind |-> "checkpoint", size |-> Len(entries), root |-> entries])
    /\ committer' = "checkpoint-written"
    /\ UNCHANGED <<durable, entries, batch, published, cache, answer, signed, told, crashes, refusals>>

SyncCheckpoint ==
    /\ committer = "checkpoint-written"
    /\ durable' = Len(drive) \* before anybody sees it
    /\ committer' = "checkpoint-synced"
    /\ UNCHANGED <<drive, entries, batch, published, cache, answer, signed, told, crashes, refusals>>

Publish ==
    /\ committer = "checkpoint-synced"
    /\ published' = [head |-> HeadOf(entries), size |-> Len(entries)]
    /\ told' = told \cup {HeadOf(entries)}
    /\ committer' = "published"
    /\ UNCHANGED <<drive, durable, entries, batch, cache, answer, signed, crashes, refusals>>

Acknowledge ==
    /\ committer = "published"
    /\ answer' = [request \in Requests |->
           IF \E at \in DOMAIN batch.answers: batch.answers[at].request = request
           THEN (CHOOSE each \in {batch.answers[at]: at \in DOMAIN batch.answers}: each.request = request).answer
           ELSE answer[request]]
    /\ batch' = Nothing
    /\ committer' = "idle"
    /\ UNCHANGED <<drive, durable, entries, published, cache, signed, told, crashes, refusals>>

(***************************************************************************)
(* The drive refuses a sync: a new segment says where the log ends         *)
(***************************************************************************)
RefuseSync ==
    /\ committer \in {"entries-written", "checkpoint-written"}
    /\ refusals < RefusalMax
    /\ refusals' = refusals + 1
    /\ committer' = IF committer = "entries-written" THEN "entries-refused" ELSE "checkpoint-refused"
    /\ UNCHANGED <<drive, durable, entries, batch, published, cache, answer, signed, told, crashes>>

\* The askers of refused entries hear so and ask again; a refused checkpoint is tried again, the same one.
Heal ==
    /\ committer \in {"entries-refused", "checkpoint-refused"}
    /\ drive' = SubSeq(drive, 1, durable)
    /\ committer' = IF committer = "entries-refused" THEN "idle" ELSE "signed"
    /\ batch' = IF committer = "entries-refused" THEN Nothing ELSE batch
    /\ UNCHANGED <<durable, entries, published, cache, answer, signed, told, crashes, refusals>>

(***************************************************************************)
(* The file beside the log: only ever a cache                              *)
(***************************************************************************)
SaveHead ==
    /\ committer = "idle"
    /\ cache # published.head
    /\ cache' = published.head
    /\ UNCHANGED <<drive, durable, entries, committer, batch, published, answer, signed, told, crashes, refusals>>

(***************************************************************************)
(* Crash and recovery                                                      *)
(***************************************************************************)
Down ==
    /\ committer # "down"
    /\ crashes < CrashMax
    /\ crashes' = crashes + 1
    /\ committer' = "down"
    /\ entries' = << >>
    /\ batch' = Nothing
    /\ UNCHANGED <<published, cache, answer, signed, told, refusals>>

\* The power goes: of what was not durable, any beginning stays, and that stays for good.
PowerCut ==
    /\ Down
    /\ \E left \in durable..Len(drive):
          /\ drive' = SubSeq(drive, 1, left)
          /\ durable' = left

\* The process goes: the machine remembers all it was given, until the power goes.
Kill == Down /\ UNCHANGED <<drive, durable>>

Recover ==
    /\ committer = "down"
    /\ entries' = Entries(drive)
    /\ durable' = Len(drive) \* before anything of it counts
    /\ IF SignedSize(drive) = Len(entries')
       THEN /\ published' = [head |-> HeadOf(entries'), size |-> Len(entries')]
            /\ told' = told \cup {HeadOf(entries')}
            /\ committer' = "idle"
       ELSE /\ committer' = "entries-synced"
            /\ UNCHANGED <<published, told>>
    /\ UNCHANGED <<drive, batch, cache, answer, signed, crashes, refusals>>

(***************************************************************************)
Init ==
    /\ drive = << >>
    /\ durable = 0
    /\ entries = << >>
    /\ committer = "idle"
    /\ batch = Nothing
    /\ published = [head |-> Genesis, size |-> 0]
    /\ cache = Genesis
    /\ answer = [request \in Requests |-> None]
    /\ signed = {}
    /\ told = {Genesis}
    /\ crashes = 0
    /\ refusals = 0

Work ==
    \/ Take \/ WriteEntries \/ SyncEntries \/ Sign \/ WriteCheckpoint \/ SyncCheckpoint \/ Publish \/ Acknowledge
    \/ Heal \/ Recover

Next ==
    \/ Work
    \/ RefuseSync \/ SaveHead \/ PowerCut \/ Kill

\* The Committer goes on while it can, and whoever is down gets up; nothing has to go wrong.
Spec == Init /\ [][Next]_vars /\ WF_vars(Work)

(***************************************************************************)
(* Never true                                                              *)
(***************************************************************************)
Durable == SubSeq(drive, 1, durable)
Log == Entries(Durable)

\* Never two artifacts at one version: nobody was ever shown two, and each version extends the one before.
OneArtifactPerVersion ==
    /\ \A a, b \in told: Len(a) = Len(b) => a = b
    /\ \A at \in 1..Len(Commits(Entries(drive))):
          LET head == Commits(Entries(drive))[at].head
          IN  Len(head) = at /\ (at > 1 => IsPrefix(Commits(Entries(drive))[at - 1].head, head))

\* Never two roots signed for one size, nor two that no longer log explains.
OneRootPerSize == \A a, b \in signed: a.size <= b.size => IsPrefix(a.root, b.root)

\* What somebody was told is durable, whatever happens from here on.
AcknowledgedSurvives ==
    \A request \in Requests:
        CASE answer[request] = "committed" -> InChain(request, HeadOf(Log))
          [] answer[request] = "noted" -> \E at \in DOMAIN Log: Log[at].request = request
          [] OTHER -> TRUE

CommittedOnce ==
    \A i, j \in DOMAIN Commits(Entries(drive)):
        Commits(Entries(drive))[i].request = Commits(Entries(drive))[j].request => i = j

\* Of two proposals that change one item from the same state, at most one is committed.
OneOfTwoRivals ==
    \A rivals \in Rivals: Cardinality({each \in rivals: InChain(each, HeadOf(Entries(drive)))}) <= 1

\* Every leaf says what HEAD was: that of the leaves before it, a commit the one it makes.
LeavesSayHead ==
    \A at \in DOMAIN Entries(drive): Entries(drive)[at].head = HeadOf(SubSeq(Entries(drive), 1, at))

\* What readers see is durable, and a durable checkpoint covers it.
PublishedIsDurable == IsPrefix(published.head, HeadOf(Log)) /\ published.size <= SignedSize(Durable)

\* So that a log which ends before it has lost its end.
CacheIsPast == IsPrefix(cache, HeadOf(Log))

\* HEAD only ever grows, for whoever looks.
HeadGrows == [][IsPrefix(published.head, published'.head)]_vars

(***************************************************************************)
(* Always comes                                                            *)
(***************************************************************************)
EveryoneIsAnswered == \A request \in Requests: (answer[request] = None) ~> (answer[request] # None)
=============================================================================
