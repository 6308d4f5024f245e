/** Survivors that no test can find, and why. They still count as survivors in the raw score. */

export interface Explanation {
  readonly file: string
  readonly why: string
  /** The code and the fault, as the record prints them. */
  readonly faults: readonly (readonly [before: string, after: string])[]
}

const TYPES = 'Only the types ask for this: the index is always inside, so the other side is never taken.'
const REFUSED_ANYWAY = 'What comes next refuses the same inputs with the same kind of error; this one says it better.'
const ONCE = 'A signal fires once; a listener that stays after that hears nothing more.'
const BOUNDS_WORK = 'Bounds what is read of an input that is refused anyway: only the time it takes would differ.'

export const EXPLANATIONS: readonly Explanation[] = [
  {
    file: 'packages/tlog/src/signing.ts',
    why: REFUSED_ANYWAY,
    faults: [
      [
        'origin === undefined || size === undefined || root === undefined',
        '(origin === undefined || size === undefined) && (root === undefined)',
      ],
      ['origin === undefined || size === undefined || root === undefined', 'false'],
      ['origin === undefined || size === undefined', '(origin === undefined) && (size === undefined)'],
      ['origin === undefined', 'false'],
      ['size === undefined', 'false'],
      ['root === undefined', 'false'],
    ],
  },
  { file: 'packages/tlog/src/tile.ts', why: BOUNDS_WORK, faults: [['entries.length === width', 'false']] },
  {
    file: 'packages/tlog/src/frontier.ts',
    why: 'The constructor refuses any size that its peaks do not make up, so there always is a peak to join.',
    faults: [
      ['left === undefined', 'false'],
      ["'Internal'", "''"],
    ],
  },
  { file: 'packages/tlog/src/merkle-map.ts', why: TYPES, faults: [['path[depth >> 3] ?? 0', 'path[depth >> 3]']] },
  {
    file: 'packages/tlog/src/merkle-map.ts',
    why: 'Keeps a hash so that it is made once; made again it is the same.',
    faults: [
      ['trie.hash ??= mapLeafHash(trie.path, trie.leaf)', 'trie.hash = mapLeafHash(trie.path, trie.leaf)'],
      [
        'trie.hash ??= mapInnerHash(hashOf(trie.left), hashOf(trie.right))',
        'trie.hash = mapInnerHash(hashOf(trie.left), hashOf(trie.right))',
      ],
    ],
  },
  {
    file: 'packages/tlog/src/note.ts',
    why: REFUSED_ANYWAY,
    faults: [
      ['name === undefined', 'false'],
      ['encoded === undefined', 'false'],
      ['signatures.length === 0', 'false'],
    ],
  },
  {
    file: 'packages/tlog/src/proof-file.ts',
    why: 'The number divides evenly: rounding up or down is the same.',
    faults: [['Math.ceil(MAX_EXTRA_BYTES / 3)', 'Math.floor(MAX_EXTRA_BYTES / 3)']],
  },
  {
    file: 'packages/tlog/src/proof-file.ts',
    why: BOUNDS_WORK,
    faults: [
      ['MAX_EXTRA_BYTES / 3', 'MAX_EXTRA_BYTES * 3'],
      ['bytes.length > MAX_HEAD_BYTES + MAX_NOTE_BYTES', 'bytes.length >= MAX_HEAD_BYTES + MAX_NOTE_BYTES'],
      ['bytes.length > MAX_HEAD_BYTES + MAX_NOTE_BYTES', 'false'],
      ['end > MAX_HEAD_BYTES', 'end >= MAX_HEAD_BYTES'],
      ['end > MAX_HEAD_BYTES', 'false'],
    ],
  },
  {
    file: 'packages/tlog/src/proof-file.ts',
    why: REFUSED_ANYWAY,
    faults: [
      ['end < 0 || end > MAX_HEAD_BYTES', '(end < 0) && (end > MAX_HEAD_BYTES)'],
      ['end < 0 || end > MAX_HEAD_BYTES', 'false'],
      ['end < 0', 'end <= 0'],
      ['end < 0', 'false'],
    ],
  },
  {
    file: 'packages/tlog/src/proof-file.ts',
    why: 'Nothing is greater than undefined either: without extra data there is not too much of it.',
    faults: [['extra?.length ?? 0', 'extra?.length']],
  },
  {
    file: 'packages/tlog/src/proof-file.ts',
    why: TYPES,
    faults: [
      ["lines.shift()?.slice('extra '.length) ?? ''", "lines.shift()?.slice('extra '.length)"],
      ["lines.shift()?.slice('extra '.length)", "lines.shift().slice('extra '.length)"],
      ["''", "'mutated'"],
    ],
  },
  {
    file: 'packages/tlog/src/proof.ts',
    why: 'A sibling never starts at the leaf whose sibling it is.',
    faults: [['(siblings[at]?.start ?? 0) < index', '(siblings[at]?.start ?? 0) <= index']],
  },
  {
    file: 'packages/tlog/src/proof.ts',
    why: TYPES,
    faults: [
      ['siblings[at]?.start ?? 0', 'siblings[at]?.start'],
      ['siblings[at]?.start ?? size', 'siblings[at]?.start'],
      ['siblings[at]?.start', 'siblings[at].start'],
    ],
  },
  {
    file: 'packages/tlog/src/range.ts',
    why: 'For a width of 2 both sides give 2.',
    faults: [['width < 2', 'width <= 2']],
  },
  {
    file: 'packages/tlog/src/tile.ts',
    why: TYPES,
    faults: [
      ['padded.match(/\\d{3}/g) ?? []', 'padded.match(/\\d{3}/g)'],
      ['level === undefined || name === undefined', '(level === undefined) && (name === undefined)'],
      ['level === undefined', 'false'],
      ['name === undefined', 'false'],
    ],
  },
  {
    file: 'packages/tlog/src/tile.ts',
    why: BOUNDS_WORK,
    faults: [
      ['path.length <= MAX_PATH_LENGTH', 'path.length < MAX_PATH_LENGTH'],
      ['path.length <= MAX_PATH_LENGTH', 'true'],
    ],
  },
  {
    file: 'packages/tlog/src/verifier-key.ts',
    why: BOUNDS_WORK,
    faults: [
      ['text.length > MAX_TEXT_LENGTH', 'text.length >= MAX_TEXT_LENGTH'],
      ['text.length > MAX_TEXT_LENGTH', 'false'],
    ],
  },
  {
    file: 'packages/tlog/src/verifier-key.ts',
    why: REFUSED_ANYWAY,
    faults: [
      [
        'name === undefined || id === undefined || encoded.length === 0',
        '(name === undefined || id === undefined) && (encoded.length === 0)',
      ],
      ['name === undefined || id === undefined || encoded.length === 0', 'false'],
      ['name === undefined || id === undefined', '(name === undefined) && (id === undefined)'],
      ['name === undefined', 'false'],
      ['id === undefined', 'false'],
      ['encoded.length === 0', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/channel/queue-core.ts',
    why: 'What is not a whole number or below one is refused a line later as well, or by the array that is made of it.',
    faults: [
      [
        '!Number.isInteger(shape.capacity) || shape.capacity < 1',
        '(!Number.isInteger(shape.capacity)) && (shape.capacity < 1)',
      ],
      ['!Number.isInteger(shape.capacity) || shape.capacity < 1', 'false'],
      ['shape.capacity < 1', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/channel/queue-core.ts',
    why: 'Room that is never used: how many may enter is decided before.',
    faults: [
      ['reserved === 0', 'false'],
      ['shape.capacity - reserved', 'shape.capacity + reserved'],
    ],
  },
  {
    file: 'packages/kernel/src/channel/queue-core.ts',
    why: 'A queue that is closing or closed becomes what it is, and nobody waits in it.',
    faults: [["queue.state.tag !== 'open'", 'false']],
  },
  {
    file: 'packages/kernel/src/channel/queue.ts',
    why: 'Any lane but the urgent one is the normal one.',
    faults: [["'normal'", "''"]],
  },
  {
    file: 'packages/kernel/src/channel/queue.ts',
    why: 'What an async function returns is awaited anyway.',
    faults: [
      ['await waitIn(this.#core.receivers[take], { signal })', 'waitIn(this.#core.receivers[take], { signal })'],
    ],
  },
  {
    file: 'packages/kernel/src/channel/waiters.ts',
    why: ONCE,
    faults: [
      ['{ once: true }', '{}'],
      ['true', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'Shows after 25 days, or for a delay of exactly 2³¹ − 1 ms.',
    faults: [
      ['left > TIMER_MS_MAX', 'left >= TIMER_MS_MAX'],
      ['left > TIMER_MS_MAX', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'When the heap is tidied changes how long things take, not what fires.',
    faults: [
      ['this.#heap.length > 64', 'this.#heap.length >= 64'],
      ['this.#heap.length > 64', 'this.#heap.length <= 64'],
      ['this.#heap.length > 64', 'true'],
      ['this.#heap.length > 2 * this.#pending', 'this.#heap.length >= 2 * this.#pending'],
    ],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'Canceled timers were dropped just before: what is on top, if anything, can fire.',
    faults: [
      ['timer === undefined || fire === undefined', '(timer === undefined) && (fire === undefined)'],
      ['timer === undefined', 'false'],
      ['fire === undefined', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'Nothing is not before any time either.',
    faults: [['due !== undefined', 'true']],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'No two timers have one order.',
    faults: [['a.order < b.order', 'a.order <= b.order']],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: TYPES,
    faults: [
      ['at > 0', 'at >= 0'],
      ['child === undefined || above === undefined', '(child === undefined) && (above === undefined)'],
      ['child === undefined', 'false'],
      ['above === undefined', 'false'],
      ['last === undefined', 'false'],
      ['left === undefined', 'false'],
      ['smaller === undefined', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/observe/bus.ts',
    why: 'Rounds a random number the other way.',
    faults: [['Math.floor(runtime.random.next() * 2 ** 32)', 'Math.ceil(runtime.random.next() * 2 ** 32)']],
  },
  {
    file: 'packages/kernel/src/observe/health.ts',
    why: TYPES,
    faults: [['conditions[name]?.ready', 'conditions[name].ready']],
  },
  {
    file: 'packages/kernel/src/policy/cancel.ts',
    why: ONCE,
    faults: [
      ['{ once: true }', '{}'],
      ['true', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/policy/cancel.ts',
    why: 'All of them are let go of, in any order.',
    faults: [['this.#parents.push(parent)', 'this.#parents.unshift(parent)']],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: ONCE,
    faults: [
      ['{ once: true }', '{}'],
      ['true', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/clock.ts',
    why: 'Only a signal that is there can call this.',
    faults: [['signal !== undefined', 'true']],
  },
  {
    file: 'packages/kernel/src/policy/hedge.ts',
    why: 'All of them are canceled and awaited, in any order.',
    faults: [
      ['this.#cancels.push(cancel)', 'this.#cancels.unshift(cancel)'],
      [
        'this.#running.push(this.#runLeg(leg, cancel.signal))',
        'this.#running.unshift(this.#runLeg(leg, cancel.signal))',
      ],
    ],
  },
  {
    file: 'packages/kernel/src/policy/hedge.ts',
    why: TYPES,
    faults: [
      ['leg < this.#legs.length', 'leg <= this.#legs.length'],
      ['run === undefined', 'false'],
      ['this.#timer?.cancel()', 'this.#timer.cancel()'],
    ],
  },
  {
    file: 'packages/kernel/src/policy/hedge.ts',
    why: 'A promise settles once: what resolves it later changes nothing.',
    faults: [["core.legSatisfied(this.#core, leg) === 'won'", 'true']],
  },
  {
    file: 'packages/kernel/src/random.ts',
    why: TYPES,
    faults: [
      ['this.#word[0] ?? 0', 'this.#word[0]'],
      ['at < length', 'at <= length'],
    ],
  },
  {
    file: 'packages/kernel/src/task/job.ts',
    why: ONCE,
    faults: [
      ['{ once: true }', '{}'],
      ['true', 'false'],
    ],
  },
  {
    file: 'packages/kernel/src/task/job.ts',
    why: 'Only a signal that is there can call this.',
    faults: [['this.#caller !== undefined', 'true']],
  },
  {
    file: 'packages/kernel/src/task/job.ts',
    why: 'A job that has ended is not ended again, whoever still knows it.',
    faults: [
      ['current = undefined', 'nothing'],
      ['this.#timer = undefined', 'nothing'],
    ],
  },
  {
    file: 'packages/kernel/src/task/job.ts',
    why: 'The first half only spares a turn when something is there already.',
    faults: [
      [
        'queue.tryReceive(take) ?? (await queue.recv({ signal: aborting, take }))',
        '(await queue.recv({ signal: aborting, take }))',
      ],
    ],
  },
  {
    file: 'packages/wire/src/address.ts',
    why: 'A CID of version 0 is never of this codec and hash, and a digest of another length is refused a line later.',
    faults: [
      ['cid.version === 1', 'true'],
      ['cid.multihash.size !== DIGEST_BYTES', 'false'],
    ],
  },
  {
    file: 'packages/wire/src/bearer.ts',
    why: 'Reading a bundle throws nothing else.',
    faults: [
      ["isKind(error, 'Malformed')", 'true'],
      ['throw error', 'nothing'],
    ],
  },
  {
    file: 'packages/wire/src/bearer.ts',
    why: 'A caveat that is a reason to deny has denied a line before.',
    faults: [
      ["typeof caveat !== 'string'", 'true'],
      ["'string'", "''"],
    ],
  },
  {
    file: 'packages/wire/src/bearer.ts',
    why: 'No header is no bearer under any name.',
    faults: [
      ["authorization?.trim() ?? ''", 'authorization?.trim()'],
      ["''", "'mutated'"],
    ],
  },
  {
    file: 'packages/wire/src/blake3/compress.ts',
    why: TYPES,
    faults: [
      ['state[ia] ?? 0', 'state[ia]'],
      ['state[ib] ?? 0', 'state[ib]'],
      ['state[ic] ?? 0', 'state[ic]'],
      ['state[id] ?? 0', 'state[id]'],
      ['schedule[2 * index] ?? 0', 'schedule[2 * index]'],
      ['schedule[2 * index + 1] ?? 0', 'schedule[2 * index + 1]'],
      ['state[index] ?? 0', 'state[index]'],
      ['state[index + 8] ?? 0', 'state[index + 8]'],
    ],
  },
  {
    file: 'packages/wire/src/blake3/constants.ts',
    why: TYPES,
    faults: [['words[index] ?? 0', 'words[index]']],
  },
  {
    file: 'packages/wire/src/blake3/chaining.ts',
    why: 'Compresses a group more than is needed, into room that is written before it is read.',
    faults: [
      ['Math.floor(bytes.length / LEAF_BYTES)', 'Math.ceil(bytes.length / LEAF_BYTES)'],
      ['base < whole', 'base <= whole'],
      ['leaf < count', 'leaf <= count'],
      ['pair < pairs', 'pair <= pairs'],
      ['left % 2 === 1', 'true'],
    ],
  },
]
