import type { IncomingBody } from '@cairn/platform'

/** The text of a body, or as much of its beginning; whoever reads it still cancels the body. */
export async function textUpTo(body: IncomingBody, charactersMax: number): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const bytes of body) {
    text += decoder.decode(bytes, { stream: true })
    if (text.length > charactersMax) break
  }
  return text
}
