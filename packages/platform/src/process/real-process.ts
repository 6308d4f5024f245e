import type { HostProcess, Signal } from './process.ts'

const SIGNALS = { SIGINT: 'interrupt', SIGTERM: 'terminate', SIGHUP: 'hangup' } as const

/** The process this code runs in. While nobody listens, signals do what the system says: they end it. */
export class RealProcess implements HostProcess {
  readonly pid = process.pid
  readonly environment = process.env

  onSignal(hear: (signal: Signal) => void): () => void {
    const listen = (name: keyof typeof SIGNALS): void => hear(SIGNALS[name])
    for (const name of signalNames()) process.on(name, listen)
    return () => {
      for (const name of signalNames()) process.off(name, listen)
    }
  }

  exit(code: number): never {
    process.exit(code)
  }
}

function signalNames(): (keyof typeof SIGNALS)[] {
  return ['SIGINT', 'SIGTERM', 'SIGHUP']
}
