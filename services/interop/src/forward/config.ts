import { duration, section, setting } from '@cairn/platform'
import { z } from 'zod'
import { secretReferences } from '../providers/config.ts'

/** `[interop.forward]`. */
export const forwardSection = section({
  secrets: setting(secretReferences, {
    default: [],
    reload: 'restart',
    secret: true,
    does: 'Where the secrets are (`whsec_…`) that sign what is forwarded; all that count sign, so that one can follow another.',
  }),
  format: setting(z.enum(['raw', 'cloudevents']), {
    default: 'raw',
    reload: 'restart',
    does: 'What is sent: the body as it came, or a CloudEvents 1.0 event around it.',
  }),
  timeout: setting(duration({ min: 1000, max: 30_000 }), {
    default: '15s',
    reload: 'restart',
    does: 'One forward, tries included.',
  }),
  dev_allow_loopback_http: setting(z.boolean(), {
    default: false,
    reload: 'restart',
    does: 'For tests: forwards may go to `http://` and loopback addresses.',
  }),
})

export type ForwardConfig = z.output<typeof forwardSection>
