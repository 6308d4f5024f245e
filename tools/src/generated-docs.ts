/** Every document rendered from the code. Add a row, then `npm run docs`. */
import { renderDependencies } from './dependencies.ts'
import type { GeneratedDoc } from './golden.ts'

export const GENERATED_DOCS: readonly GeneratedDoc[] = [{ output: 'docs/dependencies.md', render: renderDependencies }]
