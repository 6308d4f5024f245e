/** What tests and tools use and the product does not. */
export { VirtualClock } from './clock.ts'
export { type LiveEntry } from './observe/live.ts'
export { renderErrors, renderMetrics, renderTopology } from './observe/render.ts'
export { compareLive, type Topology } from './observe/topology.ts'
export { SeededRandom } from './random.ts'
export { leaks, type VirtualRuntime, virtualRuntime } from './runtime.ts'
