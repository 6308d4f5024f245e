/**
 * `deploy/grafana/cairn.json`: a dashboard with a panel for every metric there is. What an operator looks at first is on top;
 * below it is a row for each service, and its queues with what they hold at most.
 */
import { INGRESS_METRICS } from '@cairn/http'
import { KERNEL_METRICS, type MetricRow, type MetricTable } from '@cairn/kernel'
import type { Topology } from '@cairn/kernel/testing'
import { PROCESS_METRICS } from '@cairn/platform'
import { SERVICE_METRICS, SERVICE_TOPOLOGIES } from './service-docs.ts'

export interface Panel {
  readonly title: string
  readonly description: string
  readonly unit: string
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}

interface Row {
  readonly title: string
  readonly panels: readonly Panel[]
}

const CHOSEN = 'job="cairn",instance=~"$instance"'
const QUANTILES = ['0.5', '0.99'] as const
const COLUMNS = 3
const WIDTH = 24 / COLUMNS
const HEIGHT = 7

function unitOf(name: string): string {
  if (/_seconds(?:_total)?$/.test(name)) return 's'
  if (name.endsWith('_ms')) return 'ms'
  if (/bytes/.test(name)) return name.endsWith('_total') ? 'Bps' : 'bytes'
  return 'short'
}

/** How a metric is looked at: a counter by its rate, a histogram by its median and its slowest hundredth. */
function metricPanel(name: string, row: MetricRow, service?: string): Panel {
  const chosen = service === undefined ? CHOSEN : `${CHOSEN},service="${service}"`
  const by = ['instance', ...(service === undefined ? ['service'] : []), ...row.labels]
  const legend = by.map((label) => `{{${label}}}`).join(' ')
  const shape = { title: name, description: row.help, unit: unitOf(name) }
  switch (row.type) {
    case 'counter': {
      const expr = `sum by (${by.join(', ')}) (rate(${name}{${chosen}}[$__rate_interval]))`
      return { ...shape, targets: [{ expr, legendFormat: legend }] }
    }
    case 'gauge':
      return { ...shape, targets: [{ expr: `sum by (${by.join(', ')}) (${name}{${chosen}})`, legendFormat: legend }] }
    case 'histogram': {
      const targets = QUANTILES.map((quantile) => ({
        expr: `histogram_quantile(${quantile}, sum by (le, ${by.join(', ')}) (rate(${name}_bucket{${chosen}}[$__rate_interval])))`,
        legendFormat: `${legend} ${quantile}`,
      }))
      return { ...shape, targets }
    }
  }
}

function tablePanels(table: MetricTable, service?: string): readonly Panel[] {
  return Object.entries(table).map(([name, row]) => metricPanel(name, row, service))
}

function queuesPanel({ service, queues }: Topology): Panel {
  const holds = Object.entries(queues).map(([name, { capacity }]) => `${name} holds ${capacity}`)
  const expr = `sum by (instance, queue) (queue_depth{${CHOSEN},service="${service}"})`
  return {
    title: `queues of ${service}`,
    description: `${holds.join(', ')} at most.`,
    unit: 'short',
    targets: [{ expr, legendFormat: '{{instance}} {{queue}}' }],
  }
}

function requestsPanel(title: string, description: string, matchers: string): Panel {
  const expr = `sum by (instance, service) (rate(http_requests_total{${CHOSEN}${matchers}}[$__rate_interval]))`
  return { title, description, unit: 'reqps', targets: [{ expr, legendFormat: '{{instance}} {{service}}' }] }
}

function slowest(): Panel {
  const buckets = `sum by (le, instance, service) (rate(request_latency_seconds_bucket{${CHOSEN}}[$__rate_interval]))`
  return {
    title: 'latency',
    description: 'Of the slowest hundredth.',
    unit: 's',
    targets: [{ expr: `histogram_quantile(0.99, ${buckets})`, legendFormat: '{{instance}} {{service}}' }],
  }
}

function rows(): readonly Row[] {
  const first: readonly Panel[] = [
    metricPanel('up', { type: 'gauge', labels: [], help: 'Whether it answers Prometheus.' }),
    requestsPanel('requests', 'Answered, by service.', ''),
    requestsPanel('errors', 'Answered 5xx, by service.', ',status=~"5.."'),
    slowest(),
    ...tablePanels(PROCESS_METRICS),
  ]
  return [
    { title: 'At a glance', panels: first },
    ...SERVICE_TOPOLOGIES.map((topology) => ({
      title: topology.service,
      panels: [queuesPanel(topology), ...tablePanels(SERVICE_METRICS[topology.service] ?? {}, topology.service)],
    })),
    { title: 'every service: requests', panels: tablePanels(INGRESS_METRICS) },
    { title: 'every service: tasks and queues', panels: tablePanels(KERNEL_METRICS) },
  ]
}

/** Every panel, in order. */
export function dashboardPanels(): readonly Panel[] {
  return rows().flatMap(({ panels }) => panels)
}

export function renderDashboard(): string {
  let id = 0
  let y = 0
  const panels = rows().flatMap(({ title, panels: inRow }, index): readonly object[] => {
    const isOpen = index === 0
    const row = { id: (id += 1), type: 'row', title, collapsed: !isOpen, gridPos: { x: 0, y, w: 24, h: 1 } }
    const top = (y += 1)
    const placed = inRow.map(({ title: name, description, unit, targets }, at) => ({
      id: (id += 1),
      type: 'timeseries',
      title: name,
      description,
      datasource: { type: 'prometheus', uid: '${datasource}' },
      gridPos: { x: (at % COLUMNS) * WIDTH, y: top + Math.floor(at / COLUMNS) * HEIGHT, w: WIDTH, h: HEIGHT },
      fieldConfig: { defaults: { unit }, overrides: [] },
      targets: targets.map((target, nth) => ({ ...target, refId: String.fromCharCode(65 + nth) })),
    }))
    if (!isOpen) return [{ ...row, panels: placed }]
    y += Math.ceil(inRow.length / COLUMNS) * HEIGHT
    return [{ ...row, panels: [] }, ...placed]
  })
  const instances = { query: 'label_values(up{job="cairn"}, instance)', refId: 'instance' }
  const choice = { name: 'instance', type: 'query', query: instances, includeAll: true, multi: true, refresh: 2 }
  const dashboard = {
    uid: 'cairn',
    title: 'cairn',
    tags: ['cairn'],
    schemaVersion: 39,
    version: 1,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus' },
        {
          ...choice,
          datasource: { type: 'prometheus', uid: '${datasource}' },
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels,
  }
  return `${JSON.stringify(dashboard, undefined, 1)}\n`
}
