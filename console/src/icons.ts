/** Glyphs of 16 by 16; each state has a shape of its own, so that colour is never all there is. */
import { html, svg, type TemplateResult } from 'lit'

export type IconName =
  | 'ok'
  | 'warn'
  | 'bad'
  | 'wait'
  | 'work'
  | 'off'
  | 'now'
  | 'names'
  | 'objects'
  | 'hooks'
  | 'cluster'
  | 'audit'
  | 'settings'
  | 'sites'
  | 'more'
  | 'copy'
  | 'key'
  | 'passkey'
  | 'folder'
  | 'file'
  | 'image'
  | 'link'
  | 'down'
  | 'up'
  | 'replay'
  | 'pause'
  | 'search'
  | 'arrow'
  | 'lock'
  | 'move'
  | 'plus'
  | 'minus'
  | 'pen'
  | 'x'
  | 'theme'
  | 'shield'

const SHAPES: Readonly<Record<IconName, TemplateResult<2>>> = {
  ok: svg`<circle cx="8" cy="8" r="6"/><path d="m5.4 8.2 1.8 1.8 3.5-3.8"/>`,
  warn: svg`<path d="M8 2.2 14.3 13.3H1.7Z"/><path d="M8 6.5v3M8 11.4v.1"/>`,
  bad: svg`<path d="M5.5 2h5L14 5.5v5L10.5 14h-5L2 10.5v-5Z"/><path d="m6 6 4 4m0-4-4 4"/>`,
  wait: svg`<circle cx="8" cy="8" r="6" stroke-dasharray="2.6 2.1"/>`,
  work: svg`<circle cx="8" cy="8" r="6"/><path d="M8 4.8V8l2.2 1.6"/>`,
  off: svg`<circle cx="8" cy="8" r="6"/><path d="M5.5 8h5"/>`,
  now: svg`<path d="M1.8 8.5h3l1.7-5 3 9 1.7-4h3"/>`,
  names: svg`<path d="M2.5 3.5v4.2l5.8 5.8 5.2-5.2L7.7 2.5H3.5a1 1 0 0 0-1 1Z"/><path d="M5.5 5.5v.1"/>`,
  objects: svg`<path d="m8 1.8 5.5 3v6.4L8 14.2l-5.5-3V4.8ZM2.7 5 8 8l5.3-3M8 8v6"/>`,
  hooks: svg`<circle cx="4" cy="11.5" r="2"/><circle cx="12" cy="11.5" r="2"/><circle cx="8" cy="4.5" r="2"/><path d="m7 6.3-2.1 3.4M6 11.5h4M9 6.3l2.1 3.4"/>`,
  cluster: svg`<rect x="2" y="2.5" width="12" height="4.5" rx="1"/><rect x="2" y="9" width="12" height="4.5" rx="1"/><path d="M4.7 4.75h.1M4.7 11.25h.1"/>`,
  audit: svg`<path d="M3.5 1.8h6l3 3v9.4h-9ZM5.8 7h4.5M5.8 9.5h4.5M5.8 12h2.5"/>`,
  settings: svg`<path d="M2 4.5h7M12.5 4.5H14M2 11.5h1.5M7 11.5h7"/><circle cx="10.8" cy="4.5" r="1.7"/><circle cx="5.2" cy="11.5" r="1.7"/>`,
  sites: svg`<circle cx="8" cy="8" r="6"/><path d="M2 8h12M8 2c2.2 1.7 2.2 10.3 0 12M8 2c-2.2 1.7-2.2 10.3 0 12"/>`,
  more: svg`<path d="M3.5 8h.1M8 8h.1M12.5 8h.1" stroke-width="2.4"/>`,
  copy: svg`<rect x="5.5" y="5.5" width="8" height="8" rx="1.2"/><path d="M10.5 3.2A.7.7 0 0 0 9.8 2.5H3.2a.7.7 0 0 0-.7.7v6.6c0 .4.3.7.7.7"/>`,
  key: svg`<circle cx="5" cy="11" r="2.8"/><path d="m7.1 8.9 6-6M11 5l2 2"/>`,
  passkey: svg`<path d="M3.5 10.5c.6-1.2.7-2 .7-3a3.8 3.8 0 0 1 7.6 0c0 2-.2 3.6-.8 5.2M8 7.5c0 2.6-.5 4.5-1.8 6.3M6 13.9M3 5.3a5.8 5.8 0 0 1 9.4-1.6"/>`,
  folder: svg`<path d="M1.8 12.5v-9h4.5l1.5 1.8h6.4v7.2Z"/>`,
  file: svg`<path d="M3.5 1.8h5.3l3.7 3.7v8.7h-9ZM8.5 2v3.7h3.8"/>`,
  image: svg`<rect x="2" y="2.8" width="12" height="10.4" rx="1"/><path d="m2.3 11.5 3.5-3.7 2.7 2.7 1.7-1.5 3.5 3M10.5 6v.1"/>`,
  link: svg`<path d="M6.5 9.5a2.5 2.5 0 0 0 3.6 0l2.6-2.6a2.5 2.5 0 0 0-3.6-3.6l-.9.9M9.5 6.5a2.5 2.5 0 0 0-3.6 0L3.3 9.1a2.5 2.5 0 0 0 3.6 3.6l.9-.9"/>`,
  down: svg`<path d="M8 2v8m-3-3 3 3 3-3M2.5 13.5h11"/>`,
  up: svg`<path d="M8 10.5V2.5m-3 3 3-3 3 3M2.5 13.5h11"/>`,
  replay: svg`<path d="M2.5 3v3.5H6M2.8 6.3A5.5 5.5 0 1 1 2.5 9"/>`,
  pause: svg`<path d="M5.5 3v10M10.5 3v10" stroke-width="2"/>`,
  search: svg`<circle cx="7" cy="7" r="4.5"/><path d="m10.4 10.4 3.4 3.4"/>`,
  arrow: svg`<path d="M2.5 8h11m-4-4 4 4-4 4"/>`,
  lock: svg`<rect x="3" y="7" width="10" height="7" rx="1"/><path d="M5 7V5a3 3 0 0 1 6 0v2"/>`,
  move: svg`<path d="M2 5.5h10.5m-3-3 3 3-3 3M14 10.5H5m2.5 2.5L5 10.5 7.5 8"/>`,
  plus: svg`<path d="M8 3v10M3 8h10"/>`,
  minus: svg`<path d="M3 8h10"/>`,
  pen: svg`<path d="m3 13 .7-3 7-7L13 5.3l-7 7Z"/>`,
  x: svg`<path d="m4 4 8 8m0-8-8 8"/>`,
  theme: svg`<circle cx="8" cy="8" r="5.5"/><path d="M8 2.5v11a5.5 5.5 0 0 0 0-11Z" fill="currentColor"/>`,
  shield: svg`<path d="M8 1.8 13.2 4v4c0 3.2-2.2 5.2-5.2 6.2C5 13.2 2.8 11.2 2.8 8V4Z"/><path d="m5.7 8 1.7 1.7 3-3.3"/>`,
}

export function icon(name: IconName): TemplateResult {
  return html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true">${SHAPES[name]}</svg>`
}

/** Three stones on each other. */
export function mark(): TemplateResult {
  return html`<svg class="mark" viewBox="0 0 24 24" aria-hidden="true"><path d="M10.3 2.7c1.7-.7 4.1-.2 4.5 1.4.4 1.7-1.3 2.9-3.2 3-1.9.2-3.6-.6-3.7-2 0-1.1 1-1.9 2.4-2.4Z" /><path d="M8.6 8.7c2.9-1 8.3-.8 9.7 1.2 1.3 1.9-.3 3.9-3 4.4-3.1.6-8 .5-9.5-1.3-1.5-1.7.1-3.4 2.8-4.3Z" /><path d="M6.2 16c4.3-1 11.7-.9 14.5.8 2.1 1.3 1.8 4-.7 4.6-4 .9-12.5.9-16.1-.1-2.7-.8-2.8-3.2-.8-4.3.9-.5 1.9-.8 3.1-1Z" /></svg>`
}
