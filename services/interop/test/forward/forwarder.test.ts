/** Forwards to a real receiver on loopback, judged by the library of Standard Webhooks. */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  Breakers,
  CairnError,
  Deadline,
  MemoryLog,
  MemoryMetrics,
  type Runtime,
  SystemClock,
  systemRuntime,
} from '@cairn/kernel'
import { leaks, virtualRuntime } from '@cairn/kernel/testing'
import { GuardedTransport, systemCrypto } from '@cairn/platform'
import type { Transport } from '@cairn/transport'
import { addressOf } from '@cairn/wire'
import { Webhook } from 'standardwebhooks'
import { type ForwardConfig, forwardSection } from '../../src/config.ts'
import { type Forwarded, Forwarder, forwardPolicy } from '../../src/forward/forwarder.ts'
import type { Rule } from '../../src/rules/rule.ts'
import { isVerified, opened, secret } from '../providers/opened.ts'
import { type Answer, type Received, Receiver } from './receiver.ts'

const OLD = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const NEW = `whsec_${Buffer.alloc(32, 9).toString('base64')}`
const BODY = Buffer.from('{"ref":"refs/heads/main", "n": 1.50}')
const MESSAGE: Forwarded = {
  id: '01J0000000000000000000000A',
  provider: 'github',
  event: 'push',
  address: addressOf(BODY),
  contentType: 'application/json',
  receivedAtMs: 1_700_000_000_000,
  body: BODY,
}

interface Setting {
  readonly config?: Partial<ForwardConfig>
  readonly target?: string
  readonly secrets?: readonly string[]
}

/** Sends one message to the receiver through everything that is between; what it throws is the outcome. */
async function forward(receiver: Receiver, message: Forwarded = MESSAGE, setting: Setting = {}): Promise<unknown> {
  const runtime = systemRuntime(new MemoryLog(), new MemoryMetrics())
  const config = { ...forwardSection.parse({}), dev_allow_loopback_http: true, ...setting.config }
  const rules: Rule[] = [{ provider: 'github', event: '*', effect: { tag: 'forward', url: receiver.url } }]
  const policy = forwardPolicy(rules, config)
  const lookup = { addresses: async () => await Promise.resolve(['127.0.0.1']) }
  const transport = new GuardedTransport(runtime, { lookup, policy: () => policy })
  const forwarder = newForwarder(runtime, transport, policy, config.format, setting.secrets)
  const deadline = Deadline.after(runtime.clock, 5000)
  try {
    await forwarder.deliver(setting.target ?? receiver.url, message, { deadline, corrId: 'corr-1' })
    return undefined
  } catch (error) {
    return error
  } finally {
    await transport.close()
    assert.equal(runtime.clock.pending(), 0)
  }
}

function newForwarder(
  runtime: Runtime,
  transport: Transport,
  policy: ReturnType<typeof forwardPolicy>,
  format: ForwardConfig['format'] = 'raw',
  secrets: readonly string[] = [OLD],
): Forwarder {
  const breakers = new Breakers(runtime)
  const keys = secrets.map((text) => secret(text))
  return new Forwarder({ runtime, crypto: systemCrypto, transport, policy, breakers, secrets: keys, format })
}

const isError = (error: unknown, kind: CairnError['kind'], says: RegExp): void => {
  assert.ok(error instanceof CairnError)
  assert.equal(error.kind, kind)
  assert.match(error.message, says)
}

const vendorAccepts = (text: string, { headers, body }: Received): void => {
  new Webhook(text).verify(body.toString(), headers as Record<string, string>)
}

describe('what is sent', () => {
  test('the body as it came, with a signature the library accepts, and so does our own provider', async () => {
    await using receiver = await Receiver.open()
    assert.equal(await forward(receiver), undefined)
    const [got] = receiver.received
    assert.deepEqual(got!.body, BODY)
    assert.equal(got!.headers['webhook-id'], MESSAGE.id)
    assert.equal(got!.headers['content-type'], 'application/json')
    assert.equal(got!.headers['x-corr-id'], 'corr-1')
    assert.equal(got!.headers['x-cairn-event'], 'push')
    vendorAccepts(OLD, got!)
    const headers = Object.entries(got!.headers).map(([name, value]) => [name, String(value)] as const)
    const verified = isVerified(
      opened('standard', [secret(OLD)]).verify({ headers, body: got!.body, nowMs: new SystemClock().wall() }),
    )
    assert.equal(verified.deliveryId, MESSAGE.id)
  })

  test('while secrets rotate each of the two verifies; a stranger does not', async () => {
    await using receiver = await Receiver.open()
    assert.equal(await forward(receiver, MESSAGE, { secrets: [OLD, NEW] }), undefined)
    const [got] = receiver.received
    vendorAccepts(OLD, got!)
    vendorAccepts(NEW, got!)
    assert.throws(() => vendorAccepts(`whsec_${Buffer.alloc(24).toString('base64')}`, got!))
  })

  test('as CloudEvents 1.0: JSON inside as it is, other bodies in base64, all of it signed', async () => {
    await using receiver = await Receiver.open()
    const config = { format: 'cloudevents' } as const
    assert.equal(await forward(receiver, MESSAGE, { config }), undefined)
    const bytes = Buffer.from([0xff, 0x00])
    const other = { ...MESSAGE, body: bytes, contentType: 'application/octet-stream' }
    assert.equal(await forward(receiver, other, { config }), undefined)
    const broken = { ...MESSAGE, body: Buffer.from('{"a":') }
    assert.equal(await forward(receiver, broken, { config }), undefined)
    const [json, binary, text] = receiver.received
    for (const got of receiver.received) {
      assert.equal(got.headers['content-type'], 'application/cloudevents+json')
      vendorAccepts(OLD, got)
    }
    const attributes = {
      specversion: '1.0',
      id: MESSAGE.id,
      source: '/webhooks/github',
      type: 'github.push',
      subject: MESSAGE.address,
      time: '2023-11-14T22:13:20.000Z',
    }
    const type = { datacontenttype: 'application/json' }
    assert.deepEqual(JSON.parse(String(json!.body)), {
      ...attributes,
      ...type,
      data: JSON.parse(String(BODY)) as unknown,
    })
    assert.ok(json!.body.includes(BODY), 'byte for byte')
    const octets = { datacontenttype: 'application/octet-stream', data_base64: '/wA=' }
    assert.deepEqual(JSON.parse(String(binary!.body)), { ...attributes, ...octets })
    assert.equal((JSON.parse(String(text!.body)) as { data_base64: string }).data_base64, 'eyJhIjo=')
  })
})

describe('what goes wrong', () => {
  test('a failure is tried again under the same id, each try with a signature that is good', async () => {
    const answers: Answer[] = [{ status: 500 }, 'hang up']
    await using receiver = await Receiver.open(...answers)
    assert.equal(await forward(receiver), undefined)
    assert.deepEqual(
      receiver.received.map(({ headers }) => headers['webhook-id']),
      new Array(3).fill(MESSAGE.id),
    )
    for (const got of receiver.received) vendorAccepts(OLD, got)
  })

  test('after three tries it is for the mailbox to come back', async () => {
    await using receiver = await Receiver.open({ status: 503 }, { status: 503 }, { status: 503 })
    isError(await forward(receiver), 'Timeout', /answered 503/)
    assert.equal(receiver.received.length, 3)
  })

  test('what the receiver refuses is not sent again at once; 410 is the end; a Retry-After is obeyed', async () => {
    const cases: readonly (readonly [Answer, CairnError['kind'], RegExp])[] = [
      [{ status: 400 }, 'Conflict', /receiver's log/],
      [{ status: 410 }, 'RejectPolicy', /remove the rule/],
      [{ status: 429, headers: { 'retry-after': '60' } }, 'Busy', /answered 429/],
    ]
    for (const [answer, kind, says] of cases) {
      await using receiver = await Receiver.open(answer)
      const error = await forward(receiver)
      isError(error, kind, says)
      assert.equal((error as CairnError).retryAfterMs, kind === 'Busy' ? 60_000 : undefined)
      assert.equal(receiver.received.length, 1)
    }
  })

  test('a target whose every answer is a failure is left alone for a while, others are not', async () => {
    const runtime = virtualRuntime()
    let calls = 0
    const transport: Transport = {
      request: async () => {
        calls += 1
        return await Promise.reject(new CairnError('Timeout', 'no answer', { code: 'unreachable' }))
      },
      close: async () => await Promise.resolve(),
    }
    const urls = ['https://down.example/', 'https://other.example/']
    const rules = urls.map((url): Rule => ({ provider: 'github', event: '*', effect: { tag: 'forward', url } }))
    const policy = forwardPolicy(rules, forwardSection.parse({}))
    const forwarder = newForwarder(runtime, transport, policy)
    const attempt = async (url: string): Promise<CairnError> => {
      const deadline = Deadline.after(runtime.clock, 15_000)
      return await forwarder.deliver(url, MESSAGE, { deadline, corrId: 'c' }).then(
        () => assert.fail('delivered'),
        (error: unknown) => error as CairnError,
      )
    }
    const outcomes = async (attempts: readonly Promise<CairnError>[]): Promise<readonly string[]> => {
      for (let step = 0; step < 10; step += 1) {
        for (let turn = 0; turn < 50; turn += 1) await Promise.resolve()
        runtime.clock.advance(200)
      }
      return (await Promise.all(attempts)).map(({ kind }) => kind)
    }
    await outcomes(Array.from({ length: 4 }, async () => await attempt(urls[0]!)))
    const before = calls
    assert.deepEqual(await outcomes([attempt(urls[0]!)]), ['BreakerOpen'])
    assert.equal(calls, before, 'not even asked')
    assert.deepEqual(await outcomes([attempt(urls[1]!)]), ['Timeout'])
  })
})

describe('where it goes', () => {
  test('nowhere but where rules say, and to no loopback address unless it is a test', async () => {
    await using receiver = await Receiver.open()
    const refused: readonly Setting[] = [
      { config: { dev_allow_loopback_http: false } },
      { target: receiver.url.replace('127.0.0.1', 'localhost') },
      { target: 'https://elsewhere.example/' },
      { target: 'http://169.254.169.254/latest/meta-data' },
    ]
    for (const setting of refused) isError(await forward(receiver, MESSAGE, setting), 'RejectPolicy', /not fetched/)
    assert.equal(receiver.received.length, 0)
  })

  test('a redirect is not followed: the signature was for this target', async () => {
    await using other = await Receiver.open()
    await using receiver = await Receiver.open({ status: 307, headers: { location: other.url } })
    isError(await forward(receiver), 'RejectPolicy', /redirects/)
    assert.equal(other.received.length, 0)
  })

  test('without a secret, or with one that signs nothing, it does not start', () => {
    const runtime = virtualRuntime()
    const policy = forwardPolicy([], forwardSection.parse({}))
    const transport: Transport = { request: () => assert.fail('asked'), close: async () => await Promise.resolve() }
    assert.throws(() => newForwarder(runtime, transport, policy, 'raw', []), /interop\.forward\.secrets/)
    const publicKey = 'whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4='
    assert.throws(() => newForwarder(runtime, transport, policy, 'raw', [publicKey]), /whsec_/)
    assert.equal(leaks(runtime).length, 2, 'two breaker tables that were not closed')
  })
})
