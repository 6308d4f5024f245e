import { execFile } from 'node:child_process'

/**
 * Tells systemd, where it started this process with `Type=notify`, that the node serves. Node has no sockets of the kind
 * systemd listens on, so its own program carries the word.
 */
export function tellServiceManager(
  environment: Readonly<Record<string, string | undefined>>,
  onTold: (error: Error | undefined) => void,
): void {
  if (environment['NOTIFY_SOCKET'] === undefined) return
  execFile(
    'systemd-notify',
    ['--ready', `--pid=${process.pid}`],
    { timeout: 5000, env: { ...environment } },
    (error) => {
      onTold(error ?? undefined)
    },
  )
}
