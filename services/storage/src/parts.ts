import type { Bus, Runtime } from '@cairn/kernel'
import type { Storage } from '@cairn/store'
import type { Address } from '@cairn/wire'
import type { StorageConfig } from './config.ts'
import type { ObjectReader } from './domain/object-reader.ts'
import type { ObjectWriter } from './domain/object-writer.ts'
import type { Scrubber } from './tasks/scrubber.ts'
import type { Work } from './work.ts'

export interface StorageEvents {
  'storage.ingest': { readonly address: Address; readonly new: boolean; readonly bytes: number }
  'storage.repair.planned': { readonly chunks: number }
  'storage.repair.executed': { readonly bytes: number }
}

/** What the routes and tasks of the service share. */
export interface StorageParts {
  readonly runtime: Runtime
  /** The configuration in force; read once for each request. */
  readonly config: () => StorageConfig
  readonly storage: Storage
  readonly reader: ObjectReader
  readonly writer: ObjectWriter
  readonly work: Work
  readonly events: Bus<StorageEvents>
  readonly scrubber: Scrubber
}
