/** What a start would refuse of a configuration that is valid by itself: `cairn config validate` asks before it goes live. */
import { toCairnError } from '@cairn/kernel'
import { checkListen, type HostProcess, type ListenConfig, type ServiceModule } from '@cairn/platform'
import { Machine } from './machine.ts'

export interface StartProblem {
  /** The node or the service it is about. */
  readonly service: string
  readonly detail: string
}

export interface CheckStartOptions {
  /** By service; the node itself is one of them. */
  readonly values: Readonly<Record<string, unknown>>
  readonly services: readonly ServiceModule[]
  readonly data: string
  /** Of the start that is checked: secrets may be in it. */
  readonly environment: HostProcess['environment']
}

/** Every service is asked, whatever the others say. Nothing is written, opened for writing, or asked over a network. */
export async function checkStart(options: CheckStartOptions): Promise<readonly StartProblem[]> {
  const { values, services, data, environment } = options
  await using machine = new Machine({ level: 'error', format: 'text', memoryBytes: undefined })
  const problems: StartProblem[] = [...samePorts(values as Readonly<Record<string, ListenConfig>>)]
  const attempt = async (service: string, check: () => Promise<void>): Promise<void> => {
    try {
      await check()
    } catch (error) {
      problems.push({ service, detail: toCairnError(error).message })
    }
  }
  for (const name of ['node', ...services.map((module) => module.name)])
    await attempt(name, async () => await checkListen(values[name] as ListenConfig))
  for (const module of services) {
    const { name, metrics } = module
    const own = machine.service(name, metrics).platform
    const { pid } = own.process
    const process: HostProcess = {
      pid,
      environment,
      onSignal: (hear) => own.process.onSignal(hear),
      exit: (code) => own.process.exit(code),
    }
    const platform = { ...own, process }
    const config = { current: values[name] } as never
    const readRoots = async (path: string) => await machine.readOperatorFile(path)
    await attempt(name, async () => await module.check({ platform, config, directory: `${data}/${name}`, readRoots }))
  }
  return problems
}

/** Two services cannot listen on one address. */
function samePorts(values: Readonly<Record<string, ListenConfig>>): readonly StartProblem[] {
  const first = new Map<string, string>()
  return Object.entries(values).flatMap(([service, { bind_addr: address }]) => {
    const other = first.get(address)
    if (other === undefined) first.set(address, service)
    if (other === undefined || address.endsWith(':0')) return []
    return [{ service, detail: `bind_addr is ${address}, and ${other} listens there already.` }]
  })
}
