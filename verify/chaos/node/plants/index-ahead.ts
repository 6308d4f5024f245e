/** Loaded into a node before it starts: the index says that it knows more of the journal than it does. */
import { RecordIndex } from '../../../../packages/store/src/index/record-index.ts'

const AHEAD_BYTES = 64 * 1024
// oxlint-disable-next-line typescript/unbound-method -- called below, with its `this`
const advance = RecordIndex.prototype.advance

RecordIndex.prototype.advance = function (watermark) {
  advance.call(this, { ...watermark, offset: watermark.offset + AHEAD_BYTES })
}
