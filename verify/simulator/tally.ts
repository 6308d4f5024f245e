/** How the operations of one workload ended. */
export class Tally {
  /** Begun. */
  operations = 0
  /** The client was told that it is done, or got what it asked for. */
  acknowledged = 0
  /** The client was told that it is not done. */
  refused = 0
  /** The connection broke, or the deadline passed: nobody knows. */
  unsure = 0
}
