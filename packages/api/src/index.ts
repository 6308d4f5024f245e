export {
  address,
  type Lane,
  LOOKUP_NAME,
  type Method,
  type ResponseRow,
  type RouteContract,
  type Schema,
  textOf,
} from './contract.ts'

export * as indexAnswers from './index-answers.ts'
export * as interopAnswers from './interop-answers.ts'
export * as nodeAnswers from './node-answers.ts'
export * as registryAnswers from './registry-answers.ts'
export * as storageApi from './storage.ts'
