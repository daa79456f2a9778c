import fastifySwagger from '@fastify/swagger';
import fastify, { type FastifyInstance, type FastifySchema } from 'fastify';
import { documentOperation, documentSchemas } from './complete.ts';
import type { Operation } from '../server/operation.ts';

type Document = Record<string, unknown>;

const TAGS = [
  { name: 'roles', description: 'Roles, the policies attached to them and the subjects assigned to them.' },
  { name: 'policies', description: 'Policies: which actions are allowed or denied on which resources.' },
  { name: 'service-tokens', description: 'Bearer tokens for programs.' },
  { name: 'access', description: 'Access decisions with their reasons.' },
  { name: 'cluster health', description: 'The health task and its report.' },
  { name: 'paginated queries', description: 'Queries, and paginated reading of their results.' },
  { name: 'gateway', description: 'The gateway itself.' },
  { name: 'dashboard', description: 'Sessions of the web dashboard.' },
];

declare module 'fastify' {
  interface FastifyInstance {
    /** Paths of the data plane in the OpenAPI document. */
    readonly dataPaths: Readonly<Record<string, Document>>;
  }
}

/** Collects the schemas of routes that are registered later. @param operations those of the data plane, which fastify does not serve */
export async function registerOpenApi(
  app: FastifyInstance,
  version: string,
  operations: readonly Operation[],
): Promise<void> {
  app.decorate('dataPaths', await pathsOf(operations));
  await app.register(fastifySwagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'olap-warden',
        version,
        description:
          'Access control, cluster health and paginated queries for Apache Pinot. Every error has the body `Error`; ' +
          'the engine’s own interface, which the gateway forwards, is documented by the engine.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: {
        securitySchemes: {
          bearer: {
            type: 'http',
            scheme: 'bearer',
            description:
              'A service token `svc-<accessKey>-<secretKey>`, a Kubernetes token, an OIDC token, or a token of the token file.',
          },
          basic: {
            type: 'http',
            scheme: 'basic',
            description: 'A service token: user = accessKey, password = secretKey.',
          },
        },
      },
      security: [{ bearer: [] }, { basic: [] }],
    },
    transform: markRoute,
  });
  app.addHook('onRoute', (route) => {
    // Public routes are documented without a credential.
    if (!route.schema || route.schema.hide) return;
    if (route.config?.public) route.schema = { ...route.schema, security: [] };
  });
}

const markRoute = ({ schema, url }: { schema: FastifySchema; url: string }) => ({
  schema: (schema ? markNames(schema) : schema) as FastifySchema,
  url,
});

/** Documents the operations with the same plugin, in a fastify instance that serves no requests. */
async function pathsOf(operations: readonly Operation[]): Promise<Readonly<Record<string, Document>>> {
  const described = fastify({ exposeHeadRoutes: false });
  await described.register(fastifySwagger, { openapi: { openapi: '3.1.0' }, transform: markRoute });
  for (const operation of operations) described.route({ ...operation, handler: () => undefined });
  await described.ready();
  const { paths = {} } = described.swagger() as unknown as { paths?: Record<string, Document> };
  await described.close();
  return paths;
}

/** The OpenAPI document of all routes. Complete once `app` is ready. */
export function openApiDocument(app: FastifyInstance): Document {
  const written = app.swagger() as unknown as Document;
  const document = hoistNamedSchemas({ ...written, paths: { ...(written['paths'] as Document), ...app.dataPaths } });
  const used = new Set<unknown>();
  for (const path of Object.values((document['paths'] ?? {}) as Record<string, Document>)) {
    for (const operation of Object.values(path) as Document[]) {
      completeOperation(operation);
      documentOperation(operation);
      for (const tag of (operation['tags'] ?? []) as unknown[]) used.add(tag);
    }
  }
  const components = document['components'] as Document;
  const schemas = documentSchemas(components['schemas'] as Document);
  return {
    ...document,
    components: { ...components, schemas },
    tags: TAGS.filter(({ name }) => used.has(name)),
  };
}

const ERROR_REF = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } };

const COMMON_ERRORS: readonly (readonly [status: string, description: string])[] = [
  ['400', 'The request is not valid; the message names the field and what is allowed.'],
  ['401', 'No credential, or an invalid one.'],
  ['413', 'The body is too large.'],
  ['415', 'The content type is not supported.'],
  ['429', 'Too many requests or failed attempts; `Retry-After` has the time until the next attempt.'],
  ['431', 'The address or the headers of the request are too large.'],
  ['503', 'A service that the request needs is unavailable.'],
];

/** Adds the errors that can occur before any handler runs, so that routes need not list them. */
function completeOperation(operation: Document): void {
  const responses = (operation['responses'] ?? {}) as Document;
  const isPublic = Array.isArray(operation['security']) && operation['security'].length === 0;
  for (const [status, description] of COMMON_ERRORS) {
    if (status === '401' && isPublic) continue;
    if ((status === '413' || status === '415') && operation['requestBody'] === undefined) continue;
    responses[status] ??= { description, content: ERROR_REF };
  }
  operation['responses'] = responses;
}

/** Keeps a schema's `$id`, which the plugin removes. */
const NAME_MARK = 'x-schema-name';

function markNames(node: unknown): unknown {
  return mapObjects(node, ({ $id, ...rest }) =>
    typeof $id === 'string' ? { ...rest, [NAME_MARK]: $id } : { ...rest, ...($id !== undefined && { $id }) },
  );
}

/** Moves named schemas to the components and leaves references in their place. */
function hoistNamedSchemas(document: Document): Document {
  const schemas: Document = {};
  const hoisted = mapObjects(document, ({ [NAME_MARK]: name, ...rest }) => {
    if (typeof name !== 'string') return rest;
    schemas[name] = rest;
    return { $ref: `#/components/schemas/${name}` };
  }) as Document;
  const components = (hoisted['components'] ?? {}) as Document;
  return { ...hoisted, components: { ...components, schemas: { ...(components['schemas'] as Document), ...schemas } } };
}

/** Copies plain data and applies `change` to each object, innermost first. */
function mapObjects(node: unknown, change: (object: Document) => Document): unknown {
  if (Array.isArray(node)) return node.map((entry) => mapObjects(entry, change));
  if (typeof node !== 'object' || node === null) return node;
  return change(Object.fromEntries(Object.entries(node).map(([key, value]) => [key, mapObjects(value, change)])));
}
