/** Every decision about the log, counted and told: what was asked, what became of it, and why. */
import type { Bus, Runtime } from '@cairn/kernel'
import type { Address } from '@cairn/wire'
import type { Command } from './domain/commands.ts'
import type { CommandDecision } from './domain/decide-core.ts'

export interface AuditEvent {
  readonly action: Command['tag']
  readonly decision: 'accepted' | 'rejected'
  /** The code of a refusal. */
  readonly reason: string | null
  readonly proposal_id: string | null
  readonly payload_b3: Address | null
  readonly signer_id: string | null
}

export interface RegistryEvents {
  'registry.updated': {
    readonly version: number
    readonly hash: Address
    readonly payload_b3: Address
    readonly committed_at: number
    readonly corr_id: string
  }
  'audit.event': AuditEvent
}

export class RegistryAudit {
  readonly #runtime: Runtime
  readonly #events: Bus<RegistryEvents>

  constructor(runtime: Runtime, events: Bus<RegistryEvents>) {
    this.#runtime = runtime
    this.#events = events
  }

  /** A command was decided, durably if it changed anything. */
  note(command: Command, outcome: CommandDecision): void {
    this.#count(command, outcome)
    // What was done before was told before.
    if (outcome.tag !== 'known') this.tell(command, outcome.tag === 'refused' ? outcome.error.code : null)
  }

  tell(command: Command, reason: string | null): void {
    const body: AuditEvent = {
      action: command.tag,
      decision: reason === null ? 'accepted' : 'rejected',
      reason,
      proposal_id: 'proposalId' in command ? command.proposalId : null,
      payload_b3: 'payload_b3' in command ? command.payload_b3 : null,
      signer_id: command.tag === 'approve' ? command.request.signer_id : null,
    }
    this.#events.publish({ topic: 'audit.event', body })
  }

  #count(command: Command, outcome: CommandDecision): void {
    const { metrics } = this.#runtime
    if (outcome.tag === 'entry') metrics.count('registry_entries_total', { kind: outcome.leaf.type })
    if (outcome.tag === 'refused') metrics.count('rejected_total', { reason: outcome.error.code })
    if (command.tag !== 'commit') return
    if (outcome.tag === 'refused') {
      const { kind, code } = outcome.error
      if (kind === 'ChainMismatch') metrics.count('commit_cas_fail_total')
      metrics.count('registry_updates_total', { result: 'rejected' })
      metrics.count('registry_commits_total', { outcome: code })
    } else if (outcome.tag === 'entry') {
      metrics.count('registry_updates_total', { result: outcome.supersedes === true ? 'superseded' : 'accepted' })
      metrics.count('registry_commits_total', { outcome: 'committed' })
    }
  }
}
