/** What of this package runs in a browser: bundlers and import maps take this instead of the index. */
export { abortable } from './egress/transport.ts'
export { joinUrl } from './egress/url-policy.ts'
