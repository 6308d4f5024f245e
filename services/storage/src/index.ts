export { type StorageConfig, storageSection } from './config.ts'
export { STORAGE } from './main.ts'
export { STORAGE_METRICS } from './metrics.ts'
export { STORAGE_TOPOLOGY } from './topology.ts'
