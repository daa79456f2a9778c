/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import { errorMessage } from '../../platform/plain-error.ts';
import { clusterResource } from '../../access/policy/srn.ts';
import type { Engine } from '../../pinot/types.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import { requireAllowed } from '../server/context.ts';
import { ErrorBody } from '../server/errors.ts';

const Instance = Type.Object({
  brokerId: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  self: Type.Boolean({ description: 'True for the gateway that responded.' }),
});

export const GatewayInfo = Type.Object(
  {
    version: Type.String(),
    brokerId: Type.String({ description: 'The id under which this gateway stores results.' }),
    startedAt: Type.String({ format: 'date-time' }),
    store: Type.Object({
      kind: Type.String({ description: 'Store of the resources: kubernetes or folder.' }),
      synced: Type.Boolean(),
      ageMs: Type.Number({ description: 'Milliseconds since the view of the resources was last known to be current.' }),
      lastError: Type.Union([Type.String(), Type.Null()]),
    }),
    engine: Type.Object({
      url: Type.String(),
      reachable: Type.Boolean(),
      message: Type.Union([Type.String(), Type.Null()]),
    }),
    instances: Type.Array(Instance, { description: 'The known gateways of this deployment.' }),
    pagination: Type.Object({
      protocol: Type.String({ description: 'Store of query results: memory, file, s3 or gcs.' }),
    }),
  },
  { $id: 'GatewayInfo' },
);
export type GatewayInfo = Static<typeof GatewayInfo>;

export interface GatewayInfoOptions {
  readonly version: string;
  readonly brokerId: string;
  readonly startedAt: Date;
  readonly store: ResourceStore;
  readonly storeKind: 'kubernetes' | 'folder';
  readonly engine: Engine;
  readonly instances: () => readonly { brokerId: string; host: string; port: number; self: boolean }[];
  readonly paginationProtocol: () => string;
}

const PROBE_TIMEOUT_MS = 3000;

async function probe(engine: Engine): Promise<{ reachable: boolean; message: string | null }> {
  try {
    const response = await engine.controller.request({
      method: 'GET',
      path: '/health',
      headersTimeoutMs: PROBE_TIMEOUT_MS,
      signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
    });
    response.body.destroy();
    return response.status === 200
      ? { reachable: true, message: null }
      : { reachable: false, message: `the controller's /health responded with ${response.status}` };
  } catch (error) {
    return { reachable: false, message: errorMessage(error) };
  }
}

/** `GET /api/v1/gateway`: version, age of the store's view, and whether the engine is reachable. Needs `GetHealth` on the cluster. */
export async function gatewayInfo(app: FastifyInstance, options: GatewayInfoOptions): Promise<void> {
  app.get(
    '/api/v1/gateway',
    {
      schema: {
        operationId: 'getGateway',
        'x-docs': {
          ok: 'The state of this gateway.',
          response: {
            version: '0.2.0',
            brokerId: 'olap-warden-gateway-0',
            startedAt: '2026-01-31T08:00:00.000Z',
            store: { kind: 'kubernetes', synced: true, ageMs: 120, lastError: null },
            engine: { url: 'http://pinot-controller:9000', reachable: true, message: null },
            instances: [{ brokerId: 'olap-warden-gateway-0', host: '10.0.0.7', port: 8080, self: true }],
            pagination: { protocol: 's3' },
          },
        },
        tags: ['gateway'],
        summary: 'Version of the gateway, age of its view of the resources, and whether Pinot is reachable.',
        response: { 200: GatewayInfo, 401: ErrorBody, 403: ErrorBody },
      },
    },
    async (request): Promise<GatewayInfo> => {
      requireAllowed(request, 'GetHealth', clusterResource);
      const health = options.store.health();
      return {
        version: options.version,
        brokerId: options.brokerId,
        startedAt: options.startedAt.toISOString(),
        store: {
          kind: options.storeKind,
          synced: health.synced,
          ageMs: health.ageMs,
          lastError: health.lastError ?? null,
        },
        engine: { url: options.engine.controller.url, ...(await probe(options.engine)) },
        instances: [...options.instances()],
        pagination: { protocol: options.paginationProtocol() },
      };
    },
  );
}
