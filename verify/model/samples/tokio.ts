/**
 * The two tokio channels the design notes' samples use, as far as those samples can tell.
 *
 * `watch` is edge-triggered per receiver: `changed()` is ready while the receiver has not seen the newest
 * version, and *taking* that branch marks it as seen. Whoever waits on the same receiver afterwards waits
 * for the next change. `mpsc` is a bounded line; `recv()` gives `None` once every sender is gone and the
 * line is empty, and dropping the receiver drops what is still inside.
 */

export interface TokioWatch {
  version: number
}

export interface TokioWatchReceiver {
  readonly watch: TokioWatch
  seen: number
}

export function subscribeTo(watch: TokioWatch): TokioWatchReceiver {
  return { watch, seen: watch.version }
}

/** Whether `changed()` would complete now. */
export function isChanged(receiver: TokioWatchReceiver): boolean {
  return receiver.seen !== receiver.watch.version
}

/** What completing `changed()` does: the change is seen, once and for all who share this receiver. */
export function takeChange(receiver: TokioWatchReceiver): void {
  receiver.seen = receiver.watch.version
}

export interface TokioMpsc {
  readonly capacity: number
  readonly items: string[]
  senders: number
  isReceiverAlive: boolean
}

export function createMpsc(capacity: number): TokioMpsc {
  return { capacity, items: [], senders: 1, isReceiverAlive: true }
}

export function trySendTo(channel: TokioMpsc, item: string): 'sent' | 'full' | 'closed' {
  if (!channel.isReceiverAlive) return 'closed'
  if (channel.items.length >= channel.capacity) return 'full'
  channel.items.push(item)
  return 'sent'
}

/** Whether `recv()` would complete now, with an item or with `None`. */
export function isReceivable(channel: TokioMpsc): boolean {
  return channel.items.length > 0 || channel.senders === 0
}
