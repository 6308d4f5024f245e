import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome']

/** The browser's program, if one is installed. */
export function findChromium(): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter)
  return places.flatMap((place) => NAMES.map((name) => join(place, name))).find((file) => existsSync(file))
}

/** Without a window; WebGL is drawn by the processor, so that every machine draws the same. */
export async function openChromium(program: string): Promise<Browser> {
  const gl = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist']
  const isRoot = process.getuid?.() === 0
  return await chromium.launch({ executablePath: program, args: [...gl, ...(isRoot ? ['--no-sandbox'] : [])] })
}
