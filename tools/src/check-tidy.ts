/** `npm run check:tidy`. */
import { REPOSITORY } from './repository.ts'
import { tidyProblems } from './tidy.ts'

const problems = tidyProblems(REPOSITORY)
for (const problem of problems) process.stdout.write(`${problem}\n`)
process.exitCode = problems.length === 0 ? 0 : 1
