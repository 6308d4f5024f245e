/** The published documents hold what OpenAPI 3.1 asks of one, so that tools of others can read them. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { z } from 'zod'

const FOLDER = new URL('../../docs/generated/', import.meta.url)
const METHODS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const

/** A JSON Schema, as deep as it goes: every word in it is one of the dialect. */
const TYPES = z.enum(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
const schema: z.ZodType = z.lazy(() =>
  z.union([
    z.boolean(),
    z.strictObject({ $ref: z.string().regex(/^#\/components\/schemas\/\w+$/) }),
    z.strictObject({
      type: z.union([TYPES, z.array(TYPES)]).optional(),
      title: z.string().optional(),
      description: z.string().optional(),
      default: z.unknown().optional(),
      const: z.unknown().optional(),
      enum: z.array(z.unknown()).min(1).optional(),
      format: z.string().optional(),
      pattern: z.string().refine(isPattern).optional(),
      contentEncoding: z.string().optional(),
      minLength: z.int().optional(),
      maxLength: z.int().optional(),
      minimum: z.number().optional(),
      maximum: z.number().optional(),
      exclusiveMinimum: z.number().optional(),
      multipleOf: z.number().optional(),
      minItems: z.int().optional(),
      maxItems: z.int().optional(),
      items: schema.optional(),
      prefixItems: z.array(schema).optional(),
      properties: z.record(z.string(), schema).optional(),
      required: z.array(z.string()).optional(),
      additionalProperties: schema.optional(),
      propertyNames: schema.optional(),
      anyOf: z.array(schema).optional(),
      oneOf: z.array(schema).optional(),
      allOf: z.array(schema).optional(),
      not: schema.optional(),
    }),
  ]),
)

const content = z.record(
  z.string().regex(/^(?:\*\/\*|[\w.+-]+\/[\w.+*-]+(?:;.*)?)$/),
  z.strictObject({ schema: schema.optional() }),
)

const operation = z.strictObject({
  summary: z.string().min(1),
  operationId: z.string().min(1),
  parameters: z.array(
    z.strictObject({ name: z.string(), in: z.enum(['path', 'query', 'header']), required: z.boolean(), schema }),
  ),
  security: z.array(z.strictObject({ capability: z.array(z.string()) })).optional(),
  requestBody: z.strictObject({ required: z.boolean(), content }).optional(),
  responses: z
    .record(
      z.string().regex(/^[1-5]\d\d$/),
      z.strictObject({ description: z.string().min(1), content: content.optional() }),
    )
    .refine((responses) => Object.keys(responses).length > 0),
})

const document = z.strictObject({
  openapi: z.literal('3.1.0'),
  info: z.strictObject({ title: z.string().min(1), version: z.string().min(1), description: z.string().min(1) }),
  paths: z.record(z.string().startsWith('/'), z.partialRecord(z.enum(METHODS), operation)),
  components: z.strictObject({
    securitySchemes: z.strictObject({
      capability: z.strictObject({ type: z.literal('http'), scheme: z.literal('bearer'), description: z.string() }),
    }),
    schemas: z.record(z.string(), schema),
  }),
})

function isPattern(text: string): boolean {
  return new RegExp(text, 'u').source !== ''
}

function templateNames(path: string): string[] {
  return [...path.matchAll(/\{([^}]+)\}/g)].map(([, name = '']) => name).sort()
}

describe('the OpenAPI document of', () => {
  for (const file of readdirSync(FOLDER).filter((name) => /^openapi-\w+\.json$/.test(name))) {
    test(file.slice('openapi-'.length, -'.json'.length), () => {
      const text = readFileSync(new URL(file, FOLDER), 'utf8')
      const { paths, components } = document.parse(JSON.parse(text))
      const ids = new Set<string>()
      for (const [path, methods] of Object.entries(paths)) {
        for (const { operationId, parameters, requestBody } of Object.values(methods)) {
          assert.ok(!ids.has(operationId), `${operationId} is there twice`)
          ids.add(operationId)
          const inPath = parameters.filter((parameter) => parameter.in === 'path')
          assert.deepEqual(inPath.map(({ name }) => name).sort(), templateNames(path), path)
          assert.ok(
            inPath.every(({ required }) => required),
            path,
          )
          const names = parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
          assert.equal(new Set(names).size, names.length, path)
          assert.ok(requestBody === undefined || Object.keys(requestBody.content).length > 0, path)
        }
      }
      // Every field of an answer is named: what is not is no promise, and a test of the service fails for it.
      assert.ok(!JSON.stringify(paths).includes('"additionalProperties":{}'), 'an object without named fields')
      // Two templates that differ in the names of their parameters alone mean the same path.
      const shapes = Object.keys(paths).map((path) => path.replaceAll(/\{[^}]+\}/g, '{}'))
      assert.equal(new Set(shapes).size, shapes.length)
      for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g))
        assert.ok(name in components.schemas)
    })
  }
})
