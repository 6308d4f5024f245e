/**
 * What to be woken for, or to look at in the morning: `deploy/prometheus/alerts.yml`, rendered from this table. Each row says
 * with which samples it fires and with which it does not; `verify/deploy/alerts.test.ts` plays both to Prometheus.
 */
import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS, type MetricTable } from '@cairn/kernel'
import { PROCESS_METRICS } from '@cairn/platform'
import { SERVICE_METRICS } from './service-docs.ts'

/** Series by their samples, one a minute, in the notation of `promtool test rules`. */
export type Samples = Readonly<Record<string, string>>

export interface AlertRow {
  readonly severity: 'critical' | 'warning'
  /** What is wrong; the labels say where. */
  readonly summary: string
  /** What to do. */
  readonly description: string
  readonly expr: string
  /** How long it must be so. */
  readonly for: string
  /** Samples it fires with, the labels it has then, and at which minute. */
  readonly fires: { readonly with: Samples; readonly at: string; readonly labels: Readonly<Record<string, string>> }
  /** Samples like those, with which it must stay quiet at the same minute. */
  readonly quiet: Samples
}

/** A counter grew within the window; also one that appeared, of which `increase` sees nothing. */
function grew(series: string, window: string): string {
  return `increase(${series}[${window}]) > 0 or (${series} > 0 unless ${series} offset ${window})`
}

/** What share of all that `per` counts `part` is. */
function share(part: string, all: string, by: string): string {
  return `sum by (${by}) (rate(${part}[5m])) / sum by (${by}) (rate(${all}[5m]))`
}

const SEE_RUNBOOK = 'See docs/RUNBOOK.md.'
const NODE = { instance: 'a:7071', job: 'cairn' }

function at(service: string, more: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { ...NODE, service, ...more }
}

/** A counter of a service that appears with one sample, and the same where it is old news. */
function appearing(name: string, labels: Readonly<Record<string, string>>): Pick<AlertRow, 'fires' | 'quiet'> {
  const series = spell(name, labels)
  return { fires: { with: { [series]: '_x2 1x90' }, at: '4m', labels }, quiet: { [series]: '1x90' } }
}

/** A gauge that is at a bad value all the time, and at a good one. */
function staying(
  name: string,
  labels: Readonly<Record<string, string>>,
  bad: number,
  good: number,
): Pick<AlertRow, 'fires' | 'quiet'> {
  const series = spell(name, labels)
  return { fires: { with: { [series]: `${bad}x90` }, at: '80m', labels }, quiet: { [series]: `${good}x90` } }
}

function spell(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${value}"`)
  return `${name}{${pairs.join(',')}}`
}

const EDGE = at('edge')
const BY_SERVICE = 'instance, job, service'

export const ALERTS: Readonly<Record<string, AlertRow>> = {
  CairnDown: {
    severity: 'critical',
    summary: 'A service does not answer Prometheus.',
    description: `Ask the machine with cairn status and cairn doctor. ${SEE_RUNBOOK}`,
    expr: 'up{job="cairn"} == 0',
    for: '1m',
    ...staying('up', NODE, 0, 1),
  },
  CairnErrors: {
    severity: 'critical',
    summary: 'More than one of a hundred requests is answered 5xx.',
    description: 'The log of the service has the errors; rejected_total says how many of them it refused itself.',
    expr: `${share('http_requests_total{status=~"5.."}', 'http_requests_total', BY_SERVICE)} > 0.01`,
    for: '5m',
    fires: {
      with: {
        [spell('http_requests_total', { ...EDGE, status: '200' })]: '0+98x90',
        [spell('http_requests_total', { ...EDGE, status: '503' })]: '0+2x90',
      },
      at: '20m',
      labels: EDGE,
    },
    quiet: {
      [spell('http_requests_total', { ...EDGE, status: '200' })]: '0+1000x90',
      [spell('http_requests_total', { ...EDGE, status: '503' })]: '0+2x90',
      [spell('http_requests_total', { ...EDGE, status: '404' })]: '0+500x90',
    },
  },
  CairnBusy: {
    severity: 'warning',
    summary: 'More than one of twenty requests is refused with 429, because a bound is reached.',
    description: 'queue_depth and inflight_requests say which; clients wait as Retry-After says.',
    expr: `${share('busy_rejections_total', 'http_requests_total', BY_SERVICE)} > 0.05`,
    for: '10m',
    fires: {
      with: {
        [spell('busy_rejections_total', { ...EDGE, endpoint: 'GET /o/{cid}' })]: '0+10x90',
        [spell('http_requests_total', { ...EDGE, status: '429' })]: '0+10x90',
        [spell('http_requests_total', { ...EDGE, status: '200' })]: '0+90x90',
      },
      at: '30m',
      labels: EDGE,
    },
    quiet: {
      [spell('busy_rejections_total', { ...EDGE, endpoint: 'GET /o/{cid}' })]: '0+1x90',
      [spell('http_requests_total', { ...EDGE, status: '200' })]: '0+90x90',
    },
  },
  CairnSlow: {
    severity: 'warning',
    summary: 'One of a hundred requests waits more than 2.5 s for its answer.',
    description:
      'nodejs_eventloop_lag_seconds says whether the process is starved; queue_depth, what waits for the disk.',
    expr: `histogram_quantile(0.99, sum by (le, ${BY_SERVICE}) (rate(request_latency_seconds_bucket[5m]))) > 2.5`,
    for: '10m',
    fires: {
      with: {
        [spell('request_latency_seconds_bucket', { ...EDGE, le: '2.5' })]: '0+90x90',
        [spell('request_latency_seconds_bucket', { ...EDGE, le: '5' })]: '0+100x90',
        [spell('request_latency_seconds_bucket', { ...EDGE, le: '+Inf' })]: '0+100x90',
      },
      at: '30m',
      labels: EDGE,
    },
    quiet: {
      [spell('request_latency_seconds_bucket', { ...EDGE, le: '2.5' })]: '0+100x90',
      [spell('request_latency_seconds_bucket', { ...EDGE, le: '5' })]: '0+100x90',
      [spell('request_latency_seconds_bucket', { ...EDGE, le: '+Inf' })]: '0+100x90',
    },
  },
  CairnEventLoopLate: {
    severity: 'warning',
    summary: 'The event loop of a node runs half a second late.',
    description: 'The machine has too little processor time for the node, or swaps.',
    expr: 'nodejs_eventloop_lag_seconds{quantile="0.99"} > 0.5',
    for: '5m',
    ...staying('nodejs_eventloop_lag_seconds', at('node', { quantile: '0.99' }), 0.8, 0.1),
  },
  CairnDefect: {
    severity: 'warning',
    summary: 'An unexpected error happened: a defect of cairn.',
    description: 'The log has its stack; please report it.',
    expr: grew('internal_errors_total', '1h'),
    for: '0m',
    ...appearing('internal_errors_total', at('index', { kind: 'request' })),
  },
  CairnTaskRestarting: {
    severity: 'warning',
    summary: 'A task has failed and was started again more than three times in ten minutes.',
    description: 'After five within a minute its service gives up. The log has its errors.',
    expr: 'increase(service_restarts_total[10m]) > 3',
    for: '0m',
    fires: {
      with: { [spell('service_restarts_total', at('storage', { kind: 'scrubber' }))]: '0x9 1 2 3 4 5x70' },
      at: '15m',
      labels: at('storage', { kind: 'scrubber' }),
    },
    quiet: { [spell('service_restarts_total', at('storage', { kind: 'scrubber' }))]: '0x9 1 2x70' },
  },
  CairnTaskAbandoned: {
    severity: 'warning',
    summary: 'A task ignored that it was to end.',
    description: 'Nothing that was acknowledged is lost; the log names the task. Please report it.',
    expr: grew('tasks_abandoned_total', '1h'),
    for: '0m',
    ...appearing('tasks_abandoned_total', at('storage', { kind: 'scrubber' })),
  },
  CairnBreakerOpen: {
    severity: 'warning',
    summary: 'Something that is called does not answer, and is not called for now.',
    description: 'The label target names it. When it answers again it is used again by itself.',
    expr: 'breaker_state{state="open"} == 1',
    for: '5m',
    ...staying('breaker_state', at('index', { target: 'dht', state: 'open' }), 1, 0),
  },
  CairnConnectionsRefused: {
    severity: 'warning',
    summary: 'Connections are refused because too many are open.',
    description: 'cairn doctor says whether the system allows fewer files than configured.',
    expr: grew('connections_refused_total{reason="total"}', '10m'),
    for: '0m',
    ...appearing('connections_refused_total', at('edge', { reason: 'total' })),
  },
  CairnBytesDamaged: {
    severity: 'critical',
    summary: 'Bytes on a drive are not what was written.',
    description: `With copies it heals by itself; cairn repair --wait. Replace the drive. ${SEE_RUNBOOK}`,
    expr: `${grew('scrub_chunks_total{result="damaged"}', '1h')} or ${grew('integrity_fail_total{reason="checksum"}', '1h')}`,
    for: '0m',
    ...appearing('scrub_chunks_total', at('storage', { result: 'damaged' })),
  },
  CairnCopiesMissing: {
    severity: 'critical',
    summary: 'A whole scrub found objects with fewer copies than each should have.',
    description: 'cairn status says how many; bring the drive or the peer back, or cairn repair --wait.',
    expr: 'rf_observed > 0 and rf_observed < rf_target',
    for: '15m',
    fires: {
      with: { [spell('rf_observed', at('storage'))]: '1x90', [spell('rf_target', at('storage'))]: '2x90' },
      at: '30m',
      labels: at('storage'),
    },
    quiet: { [spell('rf_observed', at('storage'))]: '0x90', [spell('rf_target', at('storage'))]: '2x90' },
  },
  CairnNoCopyToRepairFrom: {
    severity: 'critical',
    summary: 'There is no copy to repair an object from.',
    description: `Bring back the drive or the peer that has it, or put it again. ${SEE_RUNBOOK}`,
    expr: grew('repair_skipped_total{reason="no_copy"}', '1h'),
    for: '0m',
    ...appearing('repair_skipped_total', at('storage', { reason: 'no_copy' })),
  },
  CairnGarbageHeldBack: {
    severity: 'warning',
    summary: 'No garbage is collected, because something cannot be read.',
    description: 'cairn doctor says what, and what to do.',
    expr: 'garbage_held_back == 1',
    for: '15m',
    ...staying('garbage_held_back', at('storage'), 1, 0),
  },
  CairnPeerRefusesToken: {
    severity: 'warning',
    summary: 'A peer refuses our token, so there are fewer copies than configured.',
    description: 'Mint one at the peer: cairn token mint, and name it in storage.peers.',
    expr: grew('peer_auth_fail_total', '10m'),
    for: '0m',
    ...appearing('peer_auth_fail_total', at('storage')),
  },
  CairnDriveRefusesWrites: {
    severity: 'critical',
    summary: 'A drive refuses writes, which will be tried again.',
    description: `The drive is full or broken; nothing acknowledged is lost. ${SEE_RUNBOOK}`,
    expr: grew('storage_backoff_total', '10m'),
    for: '0m',
    ...appearing('storage_backoff_total', at('registry', { op: 'entries' })),
  },
  CairnLogEntryDamaged: {
    severity: 'critical',
    summary: 'A record of the registry’s log is damaged.',
    description: `Names go on to be served. Restore a backup beside it and compare. ${SEE_RUNBOOK}`,
    expr: 'registry_verify_bad_index >= 0',
    for: '0m',
    ...staying('registry_verify_bad_index', at('registry'), 7, -1),
  },
  CairnCheckpointOld: {
    severity: 'critical',
    summary: 'The registry has signed no checkpoint for five minutes; it signs one every minute.',
    description: '/readyz?class=write of the registry says why.',
    expr: 'registry_checkpoint_age_seconds > 300',
    for: '1m',
    ...staying('registry_checkpoint_age_seconds', at('registry'), 400, 60),
  },
  CairnRegistryNotBelieved: {
    severity: 'critical',
    summary: 'An index refused what its registry says: it cannot be proved.',
    description: `A forked or rolled back log. Believe neither side before you know why. ${SEE_RUNBOOK}`,
    expr: grew('index_registry_refused_total', '1h'),
    for: '0m',
    ...appearing('index_registry_refused_total', at('index', { reason: 'forked' })),
  },
  CairnRegistryAway: {
    severity: 'warning',
    summary: 'An index reaches its registry no more; names are served as last known.',
    description: 'cairn status of both; the network between them.',
    expr:
      'sum by (instance, job) (rate(index_registry_checks_total{outcome="unreachable"}[10m])) > 0 unless ' +
      'sum by (instance, job) (rate(index_registry_checks_total{outcome=~"advanced|unchanged"}[10m])) > 0',
    for: '5m',
    fires: {
      with: {
        [spell('index_registry_checks_total', at('index', { outcome: 'unreachable' }))]: '0+1x90',
        [spell('index_registry_checks_total', at('index', { outcome: 'unchanged' }))]: '0+1x5 5x85',
      },
      at: '60m',
      labels: NODE,
    },
    quiet: {
      [spell('index_registry_checks_total', at('index', { outcome: 'unreachable' }))]: '0+1x90',
      [spell('index_registry_checks_total', at('index', { outcome: 'unchanged' }))]: '0+1x90',
    },
  },
  CairnFillsFail: {
    severity: 'warning',
    summary: 'More than half of the requests to an upstream fail.',
    description: 'Look at the upstream; what is stored is served.',
    expr: `${share('edge_live_fill_success_total', 'edge_live_fill_attempts_total', 'instance, job, route')} < 0.5`,
    for: '10m',
    fires: {
      with: {
        [spell('edge_live_fill_attempts_total', { ...EDGE, route: 'tiles' })]: '0+10x90',
        [spell('edge_live_fill_success_total', { ...EDGE, route: 'tiles' })]: '0+2x90',
      },
      at: '30m',
      labels: { ...NODE, route: 'tiles' },
    },
    quiet: {
      [spell('edge_live_fill_attempts_total', { ...EDGE, route: 'tiles' })]: '0+10x90',
      [spell('edge_live_fill_success_total', { ...EDGE, route: 'tiles' })]: '0+9x90',
    },
  },
  CairnPackFailed: {
    severity: 'warning',
    summary: 'A pack of tiles cannot be served.',
    description: 'cairn pack ls says which and why; cairn pack verify.',
    expr: 'edge_packs{state="failed"} > 0',
    for: '5m',
    ...staying('edge_packs', at('edge', { state: 'failed' }), 1, 0),
  },
  CairnWebhooksRefused: {
    severity: 'warning',
    summary: 'More than half of a provider’s webhooks are refused.',
    description: 'As a rule the secret changed: cairn hook tail, cairn hook test.',
    expr: `${share('webhook_verify_total{result="fail"}', 'webhook_verify_total', 'instance, job, provider')} > 0.5`,
    for: '10m',
    fires: {
      with: {
        [spell('webhook_verify_total', at('interop', { provider: 'github', result: 'fail' }))]: '0+6x90',
        [spell('webhook_verify_total', at('interop', { provider: 'github', result: 'ok' }))]: '0+1x90',
      },
      at: '30m',
      labels: { ...NODE, provider: 'github' },
    },
    quiet: {
      [spell('webhook_verify_total', at('interop', { provider: 'github', result: 'fail' }))]: '0+1x90',
      [spell('webhook_verify_total', at('interop', { provider: 'github', result: 'ok' }))]: '0+6x90',
    },
  },
  CairnDeadLetters: {
    severity: 'warning',
    summary: 'A message was delivered ten times and never acknowledged.',
    description: 'cairn mailbox dead TOPIC; mend the consumer; cairn mailbox replay TOPIC.',
    expr: 'mailbox_messages{state="dead"} > 0',
    for: '15m',
    ...staying('mailbox_messages', at('interop', { state: 'dead' }), 2, 0),
  },
  CairnBrownout: {
    severity: 'warning',
    summary: 'A part of interop is shed to keep the rest alive.',
    description: '/readyz of interop says why.',
    expr: 'brownout_active == 1',
    for: '10m',
    ...staying('brownout_active', at('interop', { component: 'bridge' }), 1, 0),
  },
  CairnAuditDropped: {
    severity: 'warning',
    summary: 'Refusals were dropped before they were in the audit.',
    description: 'More webhooks are refused than the audit can write down: somebody tries secrets.',
    expr: grew('audit_drop_total', '1h'),
    for: '0m',
    ...appearing('audit_drop_total', at('interop')),
  },
}

/** Every metric there is, and what a scrape adds. */
const METRICS: MetricTable = {
  ...KERNEL_METRICS,
  ...INGRESS_METRICS,
  ...PROCESS_METRICS,
  ...Object.fromEntries(Object.values(SERVICE_METRICS).flatMap((table) => Object.entries(table))),
  up: { type: 'gauge', labels: [], help: 'Whether the target answered Prometheus.' },
}
const OF_EVERY_SERIES: readonly string[] = ['instance', 'job', 'service', 'le']

const SELECTOR = /\b([a-z][a-z0-9_]*_[a-z0-9_]+|up)\b(?:\{([^}]*)\})?/g
const FUNCTIONS: readonly string[] = ['histogram_quantile']

/** What an expression names that no table declares: metrics, and labels in braces. */
export function undeclaredIn(expr: string): readonly string[] {
  return [...expr.matchAll(SELECTOR)].flatMap(([, name = '', matchers = '']) => {
    if (FUNCTIONS.includes(name)) return []
    const row = METRICS[name] ?? METRICS[name.replace(/_(?:bucket|sum|count)$/, '')]
    if (row === undefined) return [name]
    const labels = [...matchers.matchAll(/([a-z_]+)(?==|!)/g)].map(([label]) => label)
    return labels.filter((label) => ![...row.labels, ...OF_EVERY_SERIES].includes(label))
  })
}

const HEAD = `# Generated by \`npm run docs\` from tools/src/alerts.ts, where each rule has its test. Scrape with the job name "cairn".
`

/** `expr` may be replaced, to see the rule tests fail. */
export function renderAlerts(expr = (row: AlertRow): string => row.expr): string {
  const rules = Object.entries(ALERTS).map(([name, row]) => {
    const { severity, summary, description } = row
    return `      - alert: ${name}
        expr: ${JSON.stringify(expr(row))}
        for: ${row.for}
        labels:
          severity: ${severity}
        annotations:
          summary: ${JSON.stringify(summary)}
          description: ${JSON.stringify(description)}
`
  })
  return `${HEAD}groups:\n  - name: cairn\n    rules:\n${rules.join('')}`
}

/** What `promtool test rules` reads; JSON is YAML. */
export function renderAlertTests(rules: string): string {
  const tests = Object.entries(ALERTS).flatMap(([name, row]) => [
    ruleTest(name, row, row.fires.with, true),
    ruleTest(name, row, row.quiet, false),
  ])
  return JSON.stringify({ rule_files: [rules], evaluation_interval: '1m', tests })
}

function ruleTest(name: string, row: AlertRow, samples: Samples, isFiring: boolean): unknown {
  const { severity, summary, description, fires } = row
  const labels = Object.fromEntries(Object.entries(fires.labels))
  // Where the counter is old news it has to have been there for longer than any window.
  const eval_time = isFiring ? fires.at : '80m'
  return {
    name: `${name} ${isFiring ? 'fires' : 'is quiet'}`,
    interval: '1m',
    input_series: Object.entries(samples).map(([series, values]) => ({ series, values })),
    alert_rule_test: [
      {
        eval_time,
        alertname: name,
        exp_alerts: isFiring
          ? [{ exp_labels: { severity, ...labels }, exp_annotations: { summary, description } }]
          : [],
      },
    ],
  }
}
