export { STORAGE, type StorageHost } from './main.ts'
export { type StorageEvents } from './parts.ts'
