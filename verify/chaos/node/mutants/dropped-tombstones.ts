/** Loaded into a node before it starts: a removal is acknowledged, and nothing of it is ever written. */
import { Appender } from '../../../../packages/store/src/journal/appender.ts'
import { TOMBSTONE } from '../../../../packages/store/src/journal/format.ts'

// oxlint-disable-next-line typescript/unbound-method -- called below, with its `this`
const submit = Appender.prototype.submit

Appender.prototype.submit = function (drafts, options) {
  const written = drafts.filter(({ flags }) => (flags & TOMBSTONE) === 0)
  return submit.call(this, written, options)
}
