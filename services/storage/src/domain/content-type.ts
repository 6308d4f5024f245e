/** Types a browser cannot be made to run as a page of ours. Everything else leaves as a download. */
const INERT =
  /^(image\/(?!svg)[\w.+-]+|audio\/[\w.+-]+|video\/[\w.+-]+|font\/[\w.+-]+|text\/plain|application\/json|application\/octet-stream)$/

const OCTETS = 'application/octet-stream'

/** The media type to remember of a put: short, plain, without parameters but a charset of text. */
export function rememberedType(header: string | undefined): string {
  const [type = ''] = (header ?? '').split(';')
  const plain = type.trim().toLowerCase()
  return plain.length <= 100 && INERT.test(plain) ? plain : OCTETS
}

/** How the object leaves: its remembered type if that is inert, else octets to be saved. */
export function servedType(remembered: string): { readonly type: string; readonly isDownload: boolean } {
  if (!INERT.test(remembered)) return { type: OCTETS, isDownload: true }
  return { type: remembered, isDownload: remembered === OCTETS }
}
