--------------------------- MODULE InteropApplied ---------------------------
(***************************************************************************)
(* A webhook that is sent more than once is applied once, through power    *)
(* cuts and a drive that refuses.                                          *)
(*                                                                         *)
(*   send --> stand --> body --> record {key, message, audit} --> sync     *)
(*             |                                                  |        *)
(*             `- known, or the first is under way              tell 202   *)
(*                                                                         *)
(*   lease --> attempt --> sync --> effect --> ack --> sync                *)
(*                                                                         *)
(* Senders send again until they are told. Keys, messages and leases are   *)
(* in memory, and after a crash they are what the records say.             *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets

CONSTANTS
    Webhooks,     \* what is sent; each by every sender
    Senders,      \* who send the same: the provider, and the provider again
    DeliveryMax,  \* deliveries before a message is dead
    CrashMax,
    RefusalMax

VARIABLES
    drive,     \* the journal: records in the order written
    durable,   \* how many of them a power cut cannot take
    bodies,    \* webhooks whose body is durable in storage
    sender,    \* by sender and webhook: where its request stands
    consumer,  \* what the one consumer is doing
    told,      \* by sender and webhook: whether it heard 202
    effects,   \* history: (webhook, message) of every effect that was applied
    nextId,
    crashes,
    refusals

vars == <<drive, durable, bodies, sender, consumer, told, effects, nextId, crashes, refusals>>

Requests == Senders \X Webhooks
Idle == [tag |-> "idle", webhook |-> "", id |-> 0]

(***************************************************************************)
(* What the records say                                                    *)
(***************************************************************************)
Accepted(records) == {at \in DOMAIN records: records[at].kind = "accepted"}
Durable == SubSeq(drive, 1, durable)
Known(webhook) == \E at \in Accepted(Durable): Durable[at].key = webhook
Attempts(id) == Cardinality({at \in DOMAIN Durable: Durable[at].kind = "attempt" /\ Durable[at].id = id})
IsAcked(id) == \E at \in DOMAIN Durable: Durable[at].kind = "ack" /\ Durable[at].id = id
Messages == {[id |-> Durable[at].id, webhook |-> Durable[at].webhook]: at \in Accepted(Durable)}
Ready == {each \in Messages: ~IsAcked(each.id) /\ Attempts(each.id) < DeliveryMax}

UnderWay(webhook) == \E request \in Requests: request[2] = webhook /\ sender[request] \in {"first", "stored", "written"}

(***************************************************************************)
(* A request                                                               *)
(***************************************************************************)
Stand(request) ==
    LET webhook == request[2] IN
    /\ sender[request] = "idle" /\ ~told[request]
    /\ IF Known(webhook)
       THEN sender' = [sender EXCEPT ![request] = "known"]
       ELSE /\ ~UnderWay(webhook) \* the others wait for what becomes of the first
            /\ sender' = [sender EXCEPT ![request] = "first"]
    /\ UNCHANGED <<drive, durable, bodies, consumer, told, effects, nextId, crashes, refusals>>

Store(request) ==
    /\ sender[request] = "first"
    /\ bodies' = bodies \cup {request[2]} \* durable before the record that names it
    /\ sender' = [sender EXCEPT ![request] = "stored"]
    /\ UNCHANGED <<drive, durable, consumer, told, effects, nextId, crashes, refusals>>

Write(request) ==
    /\ sender[request] = "stored"
    /\ drive' = Append(drive, [kind |-> "accepted", key |-> request[2], webhook |-> request[2], id |-> nextId])
    /\ nextId' = nextId + 1
    /\ sender' = [sender EXCEPT ![request] = "written"]
    /\ UNCHANGED <<durable, bodies, consumer, told, effects, crashes, refusals>>

\* One sync for everybody in line.
Sync ==
    /\ durable < Len(drive)
    /\ durable' = Len(drive) \* before anybody is told
    /\ sender' = [request \in Requests |-> IF sender[request] = "written" THEN "known" ELSE sender[request]]
    /\ consumer' = CASE consumer.tag = "attempting" -> [consumer EXCEPT !.tag = "leased"]
                     [] consumer.tag = "acking" -> Idle
                     [] OTHER -> consumer
    /\ UNCHANGED <<drive, bodies, told, effects, nextId, crashes, refusals>>

Tell(request) ==
    /\ sender[request] = "known"
    /\ told' = [told EXCEPT ![request] = TRUE]
    /\ sender' = [sender EXCEPT ![request] = "idle"]
    /\ UNCHANGED <<drive, durable, bodies, consumer, effects, nextId, crashes, refusals>>

\* The drive refuses: nothing that was in line counts, and whoever waited hears so.
Refuse ==
    /\ durable < Len(drive)
    /\ refusals < RefusalMax
    /\ refusals' = refusals + 1
    /\ drive' = Durable
    /\ sender' = [request \in Requests |-> IF sender[request] = "written" THEN "idle" ELSE sender[request]]
    /\ consumer' = IF consumer.tag = "acking" THEN [consumer EXCEPT !.tag = "applied"]
                   ELSE IF consumer.tag = "attempting" THEN Idle ELSE consumer
    /\ UNCHANGED <<durable, bodies, told, effects, nextId, crashes>>

(***************************************************************************)
(* The consumer                                                            *)
(***************************************************************************)
Attempt ==
    /\ consumer.tag = "idle"
    /\ \E each \in Ready:
          /\ drive' = Append(drive, [kind |-> "attempt", key |-> "", webhook |-> each.webhook, id |-> each.id])
          /\ consumer' = [tag |-> "attempting", webhook |-> each.webhook, id |-> each.id]
    /\ UNCHANGED <<durable, bodies, sender, told, effects, nextId, crashes, refusals>>

Apply ==
    /\ consumer.tag = "leased"
    /\ effects' = effects \cup {<<consumer.webhook, consumer.id>>}
    /\ consumer' = [consumer EXCEPT !.tag = "applied"]
    /\ UNCHANGED <<drive, durable, bodies, sender, told, nextId, crashes, refusals>>

Ack ==
    /\ consumer.tag = "applied"
    /\ drive' = Append(drive, [kind |-> "ack", key |-> "", webhook |-> consumer.webhook, id |-> consumer.id])
    /\ consumer' = [consumer EXCEPT !.tag = "acking"]
    /\ UNCHANGED <<durable, bodies, sender, told, effects, nextId, crashes, refusals>>

(***************************************************************************)
\* The power goes: of what was not durable, any beginning stays; every request and lease is gone.
Crash ==
    /\ crashes < CrashMax
    /\ crashes' = crashes + 1
    /\ \E left \in durable..Len(drive):
          /\ drive' = SubSeq(drive, 1, left)
          /\ durable' = left
    /\ sender' = [request \in Requests |-> "idle"]
    /\ consumer' = Idle
    /\ UNCHANGED <<bodies, told, effects, nextId, refusals>>

Init ==
    /\ drive = << >>
    /\ durable = 0
    /\ bodies = {}
    /\ sender = [request \in Requests |-> "idle"]
    /\ consumer = Idle
    /\ told = [request \in Requests |-> FALSE]
    /\ effects = {}
    /\ nextId = 1
    /\ crashes = 0
    /\ refusals = 0

Work ==
    \/ \E request \in Requests: Stand(request) \/ Store(request) \/ Write(request) \/ Tell(request)
    \/ Sync \/ Attempt \/ Apply \/ Ack

Next == Work \/ Refuse \/ Crash

Fair == /\ \A request \in Requests: WF_vars(Stand(request) \/ Store(request) \/ Write(request) \/ Tell(request))
        /\ WF_vars(Sync) /\ WF_vars(Attempt \/ Apply \/ Ack)

Spec == Init /\ [][Next]_vars /\ Fair

(***************************************************************************)
(* Never true                                                              *)
(***************************************************************************)
\* However often it is sent, a webhook is one message.
AppliedOnce ==
    \A i, j \in Accepted(drive): drive[i].webhook = drive[j].webhook => i = j

OneEffect == \A a, b \in effects: a[1] = b[1] => a[2] = b[2]

\* Whoever heard 202 can rely on it: the message is durable, and so is what it is about.
ToldIsDurable ==
    \A request \in Requests: told[request] => Known(request[2]) /\ request[2] \in bodies

\* No message without a body to read.
BodyFirst == \A at \in Accepted(drive): drive[at].webhook \in bodies

\* Nobody works on what could still be lost.
EffectIsDurable == \A each \in effects: \E at \in Accepted(Durable): Durable[at].id = each[2]

DeliveriesBounded == \A each \in Messages: Attempts(each.id) <= DeliveryMax

(***************************************************************************)
(* Always comes                                                            *)
(***************************************************************************)
EveryoneIsTold == \A request \in Requests: <>told[request]
=============================================================================
