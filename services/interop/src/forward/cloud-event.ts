/** CloudEvents 1.0, structured: the whole event is in the body, so the signature covers its attributes too. */
import type { Forwarded } from './forwarder.ts'

export const CLOUD_EVENT_TYPE = 'application/cloudevents+json'

/** The event around a body: JSON is carried as it is, byte for byte, anything else in base64. */
export function cloudEvent(message: Forwarded): Uint8Array {
  const { id, provider, event, address, receivedAtMs, contentType, body } = message
  const attributes = JSON.stringify({
    specversion: '1.0',
    id,
    source: `/webhooks/${provider}`,
    type: `${provider}.${event}`,
    subject: address,
    time: new Date(receivedAtMs).toISOString(),
    datacontenttype: contentType,
  }).slice(0, -1)
  const isEmbedded = isJson(contentType) && holdsJson(body)
  const data = isEmbedded ? body : Buffer.from(JSON.stringify(Buffer.from(body).toString('base64')))
  const name = isEmbedded ? 'data' : 'data_base64'
  return Buffer.concat([Buffer.from(`${attributes},"${name}":`), data, Buffer.from('}')])
}

const isJson = (contentType: string): boolean => /^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(contentType)

function holdsJson(body: Uint8Array): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body))
    return true
  } catch {
    return false
  }
}
