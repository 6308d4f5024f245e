/** Alert rules and dashboard as Prometheus reads them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ALERTS, renderAlerts, renderAlertTests, undeclaredIn } from '../../tools/src/alerts.ts'
import { dashboardPanels } from '../../tools/src/dashboard.ts'
import { Folder, run, type Said, skipWithout } from './tool.ts'

const skip = skipWithout('promtool')

/** Every rule test, played to rules rendered in some way. */
function play(rules: string): Said {
  using folder = new Folder({ 'alerts.yml': rules, 'tests.yml': renderAlertTests('alerts.yml') })
  return run('promtool', ['test', 'rules', 'tests.yml'], folder.path)
}

/** How many tests of an alert failed. */
function failuresOf(alert: string, { text }: Said): number {
  return text.split(`alertname: ${alert},`).length - 1
}

test('alerts name only metrics and labels that the tables declare', () => {
  for (const [name, { expr }] of Object.entries(ALERTS)) assert.deepEqual(undeclaredIn(expr), [], name)
  assert.deepEqual(undeclaredIn('rate(queue_depht{queue="work"}[5m])'), ['queue_depht'])
  assert.deepEqual(undeclaredIn('queue_depth{queu="work",instance="a"}'), ['queu'])
})

test('Prometheus takes the configuration and the rules', { skip }, () => {
  const { code, text } = run('promtool', ['check', 'config', 'deploy/prometheus/prometheus.yml'])
  assert.equal(code, 0, text)
  assert.match(text, new RegExp(`SUCCESS: ${Object.keys(ALERTS).length} rules found`))
})

test('each alert fires when it must, and is quiet when it must not', { skip }, () => {
  const { code, text } = play(renderAlerts())
  assert.equal(code, 0, text)
})

test('the test of an alert that never fires fails, and of one that always does', { skip }, () => {
  const [never, always] = ['up < 0', 'vector(1)'].map((expr) => play(renderAlerts(() => expr))) as [Said, Said]
  for (const name of Object.keys(ALERTS)) {
    assert.ok(failuresOf(name, never) >= 1, `${name}, never firing:\n${never.text}`)
    assert.ok(failuresOf(name, always) >= 2, `${name}, always firing:\n${always.text}`)
  }
})

test('each panel of the dashboard asks what Prometheus understands', { skip }, () => {
  const rules = dashboardPanels().flatMap(({ targets }) => {
    return targets.map(({ expr }, at) => ({
      record: `panel:${at}`,
      labels: { nth: String(at) },
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.+'),
    }))
  })
  assert.ok(rules.length > 100, `${rules.length} panels`)
  using folder = new Folder({ 'panels.yml': JSON.stringify({ groups: [{ name: 'panels', rules }] }) })
  const { code, text } = run('promtool', ['check', 'rules', '--lint=none', 'panels.yml'], folder.path)
  assert.equal(code, 0, text)
  assert.match(text, new RegExp(`SUCCESS: ${rules.length} rules found`))
})
