/** `npm run docs` writes every generated document; `npm run docs -- --check` only says which lines differ. */
import { GENERATED_DOCS } from './generated-docs.ts'
import { differenceOf, writeDoc } from './golden.ts'

const isCheck = process.argv.includes('--check')
for (const doc of GENERATED_DOCS) {
  if (isCheck) {
    const difference = await differenceOf(doc)
    if (difference === undefined) continue
    process.stdout.write(`${difference}\n`)
    process.exitCode = 1
  } else {
    process.stdout.write(`${(await writeDoc(doc)) ? 'wrote    ' : 'unchanged'} ${doc.output}\n`)
  }
}
