------------------------------- MODULE Repair -------------------------------
(***************************************************************************)
(* Copies, or shards, that are lost and made anew by workers who share one *)
(* budget of bytes a second.                                               *)
(*                                                                         *)
(*   lose --> plan --> queue --> take --> pace --> send --> hash --> counts *)
(*             |         |                  |                |             *)
(*             |         `- full: skipped,  `- one bucket    `- wrong: it  *)
(*             |            planned again      for all          is dropped *)
(*             `- one copy left: urgent, never skipped, taken first        *)
(*                                                                         *)
(* Time is ticks. A second has TicksPerSecond of them, and may begin       *)
(* anywhere between two.                                                   *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, Sequences

CONSTANTS
    Objects,
    Targets,
    Workers,
    Copies,         \* each object should have
    QueueMax,       \* repairs that wait; urgent ones have room of their own
    Rate,           \* tokens that come with a tick: one moves one copy
    Burst,          \* tokens that are saved up at most
    TicksPerSecond,
    LossMax,        \* targets that go, with all they hold
    CorruptMax      \* copies that arrive damaged

VARIABLES
    up,             \* targets that are there
    copies,         \* of each object: the targets that hold it, durable and hashed
    queue,          \* repairs that wait
    worker,         \* where each worker stands
    tokens,
    moved,          \* history: copies sent between the last ticks, the newest first
    losses,
    corruptions

vars == <<up, copies, queue, worker, tokens, moved, losses, corruptions>>

Idle == [tag |-> "idle"]
Min(a, b) == IF a < b THEN a ELSE b

RECURSIVE Sum(_)
Sum(line) == IF line = << >> THEN 0 ELSE Head(line) + Sum(Tail(line))

(***************************************************************************)
(* Planning                                                                *)
(***************************************************************************)
Wanted == Min(Copies, Cardinality(up))
Lacks(object) == Cardinality(copies[object]) < Wanted
IsUrgent(object) == Cardinality(copies[object]) = 1
UnderWay(object) == object \in queue \/ \E each \in Workers: worker[each].tag # "idle" /\ worker[each].object = object

HasRoom(object) == IsUrgent(object) \/ Cardinality({each \in queue: ~IsUrgent(each)}) < QueueMax

\* A round looks at one object after the other; what there is no room for is left for a later one.
Plan ==
    \E object \in Objects:
        /\ Lacks(object)
        /\ ~UnderWay(object)
        /\ HasRoom(object)
        /\ queue' = queue \cup {object}
        /\ UNCHANGED <<up, copies, worker, tokens, moved, losses, corruptions>>

(***************************************************************************)
(* A worker                                                                *)
(***************************************************************************)
First == IF \E object \in queue: IsUrgent(object) THEN {object \in queue: IsUrgent(object)} ELSE queue

Take(each) ==
    /\ worker[each].tag = "idle"
    /\ \E object \in First:
          /\ queue' = queue \ {object}
          /\ worker' = [worker EXCEPT ![each] =
                 IF Lacks(object)
                 THEN [tag |-> "waiting", object |-> object, to |-> CHOOSE to \in up \ copies[object]: TRUE]
                 ELSE Idle]
    /\ UNCHANGED <<up, copies, tokens, moved, losses, corruptions>>

Pace(each) ==
    /\ worker[each].tag = "waiting"
    /\ tokens > 0
    /\ tokens' = tokens - 1 \* before anything is sent
    /\ moved' = [moved EXCEPT ![1] = @ + 1]
    /\ worker' = [worker EXCEPT ![each].tag = "sent"]
    /\ UNCHANGED <<up, copies, queue, losses, corruptions>>

\* What arrives is hashed where it arrives: only the right bytes count.
Arrive(each) ==
    /\ worker[each].tag = "sent"
    /\ \E isSound \in BOOLEAN:
          /\ isSound \/ corruptions < CorruptMax
          /\ corruptions' = IF isSound THEN corruptions ELSE corruptions + 1
          /\ copies' = IF isSound \* hashed first
                       THEN [copies EXCEPT ![worker[each].object] = @ \cup {worker[each].to}]
                       ELSE copies
    /\ worker' = [worker EXCEPT ![each] = Idle]
    /\ UNCHANGED <<up, queue, tokens, moved, losses>>

(***************************************************************************)
(* Time, and what goes wrong                                               *)
(***************************************************************************)
Tick ==
    /\ tokens' = Min(Burst, tokens + Rate)
    /\ moved' = <<0>> \o SubSeq(moved, 1, TicksPerSecond)
    /\ UNCHANGED <<up, copies, queue, worker, losses, corruptions>>

\* A target goes, with every copy on it; whoever was sending to it has nobody to send to.
Lose ==
    /\ losses < LossMax
    /\ \E gone \in up:
          /\ up' = up \ {gone}
          /\ copies' = [object \in Objects |-> copies[object] \ {gone}]
          /\ worker' = [each \in Workers |->
                 IF worker[each].tag # "idle" /\ worker[each].to = gone THEN Idle ELSE worker[each]]
    /\ losses' = losses + 1
    /\ UNCHANGED <<queue, tokens, moved, corruptions>>

(***************************************************************************)
Placements == {held \in SUBSET Targets: Cardinality(held) = Copies}

\* Targets are alike, so one object may as well be on these.
Some == CHOOSE held \in Placements: TRUE

Init ==
    /\ up = Targets
    /\ copies \in {all \in [Objects -> Placements]: \E object \in Objects: all[object] = Some}
    /\ queue = {}
    /\ worker = [each \in Workers |-> Idle]
    /\ tokens = Burst
    /\ moved = [at \in 1..(TicksPerSecond + 1) |-> 0]
    /\ losses = 0
    /\ corruptions = 0

Work(each) == Take(each) \/ Pace(each) \/ Arrive(each)

Next == Plan \/ (\E each \in Workers: Work(each)) \/ Tick \/ Lose

\* The planner, every worker and the clock go on; nothing has to go wrong.
Spec == Init /\ [][Next]_vars /\ WF_vars(Plan) /\ WF_vars(Tick) /\ \A each \in Workers: SF_vars(Work(each))

(***************************************************************************)
(* Never true                                                              *)
(***************************************************************************)
\* A second that begins between two ticks sees the end of one pause, all of the next ones and the beginning of another.
Budget == Burst + TicksPerSecond * Rate
BudgetHolds == Sum(moved) <= Budget

\* While no more targets go than an object can spare, none is lost.
NothingLost == \A object \in Objects: copies[object] # {}

\* Nobody counts a copy on a target that is gone, nor more than were asked for.
CopiesAreThere == \A object \in Objects: copies[object] \subseteq up /\ Cardinality(copies[object]) <= Copies

\* An object that could be lost with the next target is never turned away.
UrgentHasRoom == \A object \in Objects: Lacks(object) /\ IsUrgent(object) /\ ~UnderWay(object) => ENABLED Plan

(***************************************************************************)
(* Always comes                                                            *)
(***************************************************************************)
CopiesComeBack == <>[](\A object \in Objects: ~Lacks(object))
=============================================================================
