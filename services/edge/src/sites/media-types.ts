/** Types by the end of a file's name, for files whose type nobody told. */
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  htm: 'text/html; charset=utf-8',
  css: 'text/css; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  mjs: 'text/javascript; charset=utf-8',
  json: 'application/json',
  map: 'application/json',
  txt: 'text/plain; charset=utf-8',
  md: 'text/markdown; charset=utf-8',
  xml: 'application/xml',
  svg: 'image/svg+xml',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  avif: 'image/avif',
  ico: 'image/vnd.microsoft.icon',
  woff: 'font/woff',
  woff2: 'font/woff2',
  ttf: 'font/ttf',
  otf: 'font/otf',
  wasm: 'application/wasm',
  pdf: 'application/pdf',
  mp4: 'video/mp4',
  webm: 'video/webm',
  mp3: 'audio/mpeg',
  webmanifest: 'application/manifest+json',
  pmtiles: 'application/vnd.pmtiles',
  mvt: 'application/vnd.mapbox-vector-tile',
  pbf: 'application/x-protobuf',
}

const OCTETS = 'application/octet-stream'

/** The told type where it is one, else the one its name suggests. */
export function mediaTypeOf(name: string, told: string | undefined): string {
  const isTold =
    told !== undefined && told !== OCTETS && /^[\w.+-]+\/[\w.+-]+(?:\s*;\s*[\w-]+=(?:[\w.+-]+|"[^"\\]*"))*$/.test(told)
  if (isTold) return told
  const end = /\.([A-Za-z0-9]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return TYPES[end] ?? OCTETS
}
