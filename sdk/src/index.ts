export { CairnError, type ErrorKind } from '@cairn/kernel'
export type { Address, TreeEntry } from '@cairn/wire'
export { Cairn, type CairnOptions } from './cairn.ts'
export type { Fetch } from './connection.ts'
export type { GetOptions, GetProgress } from './get.ts'
export type { PutOptions, PutProgress, PutResult } from './put.ts'
export type { Source } from './source.ts'
export type {
  DirectoryReader,
  DirectoryWriter,
  GetTreeOptions,
  ReadableEntry,
  TreeOptions,
  TreeProgress,
  TreeResult,
} from './tree.ts'
export type { AskOptions, ListedObject, ListOptions, ObjectPage, ScrubReport } from './upkeep.ts'
