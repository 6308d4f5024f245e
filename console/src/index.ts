/** Where the files of the console are; the node serves them. */
export const CONSOLE = {
  app: new URL('./app.ts', import.meta.url),
  /** Runs before the first paint, so that no page flashes in the wrong colours. */
  theme: new URL('./theme.ts', import.meta.url),
  icon: new URL('./mark.svg', import.meta.url),
  styles: [new URL('./tokens.css', import.meta.url), new URL('./console.css', import.meta.url)],
} as const
