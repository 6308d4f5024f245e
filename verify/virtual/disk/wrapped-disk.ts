/** A disk or a file that does some things in another way: to watch what is asked of it, or to be slow. */
import type { Disk, DiskFile } from '@cairn/platform'

export function wrapDisk(disk: Disk, other: Partial<Disk>): Disk {
  return {
    openFilesMax: disk.openFilesMax,
    open: async (path, options) => await disk.open(path, options),
    rename: async (from, to) => await disk.rename(from, to),
    unlink: async (path) => await disk.unlink(path),
    makeDirectory: async (path, permissions) => await disk.makeDirectory(path, permissions),
    syncDirectory: async (path) => await disk.syncDirectory(path),
    list: async (path) => await disk.list(path),
    space: async (path) => await disk.space(path),
    lock: async (path) => await disk.lock(path),
    ...other,
  }
}

export function wrapFile(file: DiskFile, other: Partial<DiskFile>): DiskFile {
  return {
    path: file.path,
    append: async (buffers) => await file.append(buffers),
    read: async (position, into) => await file.read(position, into),
    sync: async () => await file.sync(),
    truncate: async (length) => await file.truncate(length),
    size: async () => await file.size(),
    close: async () => await file.close(),
    [Symbol.asyncDispose]: async () => await file.close(),
    ...other,
  }
}
