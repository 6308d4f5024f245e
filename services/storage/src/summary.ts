import type { ServiceHost } from '@cairn/platform'
import { spellCount } from '@cairn/wire'
import type { StorageConfig } from './config.ts'
import { durabilityLine } from './domain/durability-report.ts'
import type { StorageParts } from './parts.ts'

/** Objects counted for the banner; past it the count would cost more than it says. */
const COUNT_MAX = 1000

/** One line: where the data is, how much there is, and how many copies of it. */
export async function summaryOf(
  { platform, directory }: ServiceHost<StorageConfig>,
  parts: StorageParts,
): Promise<string> {
  const objects = (await parts.objects.list(undefined, COUNT_MAX)).length
  const { freeBytes } = await platform.disk.space(directory)
  const count = objects === COUNT_MAX ? `${spellCount(COUNT_MAX, 'object')} or more` : spellCount(objects, 'object')
  return `${directory} · ${count} · ${Math.round(freeBytes / 1e9)} GB free · ${durabilityLine(parts)}`
}
