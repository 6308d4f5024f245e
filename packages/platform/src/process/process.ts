/** The process we run in. */

export type Signal = 'interrupt' | 'terminate' | 'hangup'

export interface HostProcess {
  readonly pid: number
  readonly environment: Readonly<Record<string, string | undefined>>
  /** Calls back for every signal until the returned function is called. */
  onSignal(hear: (signal: Signal) => void): () => void
  /** Ends the process. Only the composition root calls it. */
  exit(code: number): never
}
