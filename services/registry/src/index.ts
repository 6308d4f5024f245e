export { type RegistryConfig, registrySection } from './config.ts'
export { signedRecordPath } from './domain/signed-record.ts'
export { REGISTRY, type RegistryHost } from './main.ts'
export { openParts, type RegistryParts } from './parts.ts'
