/** What tests and tools use and the product does not. */
export { renderConfigReference } from './config/reference.ts'
export type { DiskLock } from './disk/disk.ts'
export { diskError, diskFailure, fileFailed, locked, shortWrite } from './disk/disk.ts'
export { type DirectoryNode, FileBytes, type FileNode, FileTree, type TreeNode } from './disk/file-tree.ts'
export { freePorts } from './process/free-ports.ts'
export { inlineInflate } from './workers/inflate.ts'
export { openReply, runTask } from './workers/thread-reply.ts'
export { type Thread, type ThreadRequest, WorkerPool } from './workers/worker-pool.ts'
