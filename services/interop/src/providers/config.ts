/** `[interop.providers.*]`: who may send webhooks, and where the secrets are; never the secrets themselves. */
import { byteSize, duration, section, setting } from '@cairn/platform'
import { parseIpBlock } from '@cairn/wire'
import { z } from 'zod'

const MEBIBYTE = 1024 * 1024
/** GitHub's own bound on a payload, the largest of all. */
const BODY_BYTES_MAX = 25 * MEBIBYTE
const KIBIBYTE = 1024
/** Each is tried on every request, so there are few: the one in use, its successor, and a little room. */
const SECRETS_MAX = 8

const headerName = z.string().regex(/^[a-z0-9-]{1,64}$/, 'must be a header name in lower case')
const isInstant = (text: string): boolean => z.iso.datetime({ offset: true }).safeParse(text).success
const instant = z.string().refine(isInstant, 'must be a time such as "2027-01-01T00:00:00Z"')
const cidr = z.string().refine((text) => parseIpBlock(text) !== undefined, 'must be a block such as "192.30.252.0/22"')
const host = z
  .string()
  .regex(/^[a-z0-9.-]{1,253}(?::\d{1,5})?$/, 'must be a host in lower case, with its port if it has one')

const secretReference = z
  .strictObject({
    env: z
      .string()
      .regex(/^\w{1,128}$/, 'must be the name of an environment variable')
      .optional(),
    file: z.string().min(1).optional(),
    not_after: instant.optional(),
  })
  .refine(({ env, file }) => (env === undefined) !== (file === undefined), 'must have either env or file')

/** Several, so that one can follow another. */
export const secretReferences = z.array(secretReference).max(SECRETS_MAX)

export type SecretReference = z.output<typeof secretReference>

function providerKeys(who: string) {
  return {
    enabled: setting(z.boolean(), {
      default: false,
      reload: 'restart',
      does: `Whether webhooks of ${who} are taken.`,
    }),
    secrets: setting(secretReferences, {
      default: [],
      reload: 'restart',
      // What is written here by mistake must not be shown either.
      secret: true,
      does: 'Where each secret is: `{ env }` or `{ file }`. All count until their `not_after`, so that one can follow another.',
    }),
    max_body_bytes: setting(byteSize({ min: KIBIBYTE, max: BODY_BYTES_MAX }), {
      default: '1MiB',
      reload: 'restart',
      does: 'The largest body.',
    }),
    allowed_hosts: setting(z.array(host).max(64), {
      default: [],
      reload: 'restart',
      does: 'If any: what `Origin` and `X-Forwarded-Host` may name where they are sent. Restricts, never authenticates.',
    }),
    allowed_cidrs: setting(z.array(cidr).max(256), {
      default: [],
      reload: 'restart',
      does: 'If any: the address blocks requests may come from. Restricts, never authenticates.',
    }),
  }
}

/** The text that is signed. What stands between the time and the body is no digit: nothing can move from one to the other. */
const signedText = z
  .string()
  .regex(
    /^(?:[^{}]*\{timestamp\}[^{}0-9][^{}]*|[^{}]*)\{body\}$/,
    'must end with {body}, and have text that is no digit between {timestamp} and {body}',
  )

export const providersSection = section({
  github: section({
    ...providerKeys('GitHub'),
    reconcile: section({
      hook: setting(z.string().regex(/^(?:repos\/[\w.-]+\/[\w.-]+|orgs\/[\w.-]+)\/hooks\/\d{1,20}$/), {
        reload: 'restart',
        does: 'Whose missed deliveries are asked for again: `repos/OWNER/NAME/hooks/ID` or `orgs/NAME/hooks/ID`.',
      }),
      token: setting(secretReference, {
        reload: 'restart',
        secret: true,
        does: 'Where the token is that may list and redeliver: `{ env }` or `{ file }`.',
      }),
      api: setting(z.url({ protocol: /^https?$/ }), {
        default: 'https://api.github.com',
        reload: 'restart',
        does: 'Where the API is, for an enterprise server.',
      }),
      interval: setting(duration({ min: 60_000 }), {
        default: '5m',
        reload: 'restart',
        does: 'How often its list of deliveries is looked at.',
      }),
    }),
  }),
  slack: section(providerKeys('Slack')),
  stripe: section(providerKeys('Stripe')),
  standard: section(providerKeys('senders of Standard Webhooks, v1 (`whsec_`) and v1a (`whpk_`)')),
  generic: section({
    ...providerKeys('any other sender that signs'),
    signature_header: setting(headerName, {
      default: 'x-signature',
      reload: 'restart',
      does: 'The header with the signature.',
    }),
    signature_prefix: setting(z.string().regex(/^[\x21-\x7e]{0,32}$/), {
      default: '',
      reload: 'restart',
      does: 'What the signature begins with, such as `sha256=`.',
    }),
    algorithm: setting(z.enum(['hmac-sha256', 'hmac-sha512', 'ed25519']), {
      default: 'hmac-sha256',
      reload: 'restart',
      does: 'How it signs. For `ed25519` the secret is the public key, in base64.',
    }),
    encoding: setting(z.enum(['hex', 'base64']), {
      default: 'hex',
      reload: 'restart',
      does: 'How the signature is written.',
    }),
    signed: setting(signedText, {
      default: '{body}',
      reload: 'restart',
      does: 'The text that is signed, such as `{timestamp}.{body}`.',
    }),
    timestamp_header: setting(headerName, {
      reload: 'restart',
      does: 'The header with the Unix time, in seconds or milliseconds; needed where `signed` has a `{timestamp}`.',
    }),
    event_header: setting(headerName, {
      reload: 'restart',
      does: 'The header that says what happened, for rules. It is not signed.',
    }),
    delivery_header: setting(headerName, {
      reload: 'restart',
      does: 'The header with the id of a delivery, for logs. It is not signed.',
    }),
    retries: setting(z.boolean(), {
      default: false,
      reload: 'restart',
      does: 'Whether the sender tries again by itself: then it is turned away in a brownout.',
    }),
  }),
})

export type ProvidersConfig = z.output<typeof providersSection>
export type ProviderName = keyof ProvidersConfig
export type ProviderConfig = ProvidersConfig['slack']
export type GenericConfig = ProvidersConfig['generic']
export const PROVIDER_NAMES = ['github', 'slack', 'stripe', 'standard', 'generic'] as const satisfies ProviderName[]
