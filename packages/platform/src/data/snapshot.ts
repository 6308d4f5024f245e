/** A part of the node that a backup copies. */
export interface SnapshotSource {
  /** The name of its directory in the backup. */
  readonly name: string
  /** Copies a consistent state of it into the directory, which exists and is empty; durable once resolved. */
  snapshot(into: string): Promise<void>
}
