/// <reference types="@fastify/swagger" />
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type, type Static } from 'typebox';
import { clusterResource } from '../../access/policy/srn.ts';
import type { Engine } from '../../pinot/types.ts';
import { CATALOGUE, findCheck, originOf } from '../../health/catalogue.ts';
import { unknownCheck } from '../../health/settings.ts';
import { clientSignal } from '../server/client-signal.ts';
import { requireAllowed } from '../server/context.ts';
import { credentialRefused, ErrorBody, HttpError } from '../server/errors.ts';
import { engineTaskNames, runEngineTask } from './engine-tasks.ts';
import { asksForEntity, requireKnown } from './indexed-findings.ts';
import { clusterHealth } from './report.ts';
import { muteRoutes } from './mutes.ts';
import {
  ClusterHealth,
  HealthCheckType,
  HealthQuery,
  HealthTransition,
  RunQuery,
  StateQuery,
  TaskRun,
} from './schemas.ts';
import { awaitRun, requestRun, setSuspend, TASK_NAME, type TaskPorts } from './task.ts';

export interface ClusterHealthOptions extends TaskPorts {
  readonly engine: Engine;
  /** Maximum wait of `wait=true` in milliseconds. */
  readonly maxWaitMs?: number;
}

const MAX_WAIT_MS = 5 * 60_000;
const errors = { 401: ErrorBody, 403: ErrorBody };
const route = (operationId: string, summary: string) => ({ operationId, summary, tags: ['cluster health'] });

/** The cluster health API: the latest report, the list of checks, and the periodic task. */
export async function clusterHealthRoutes(app: FastifyInstance, options: ClusterHealthOptions): Promise<void> {
  const { store, report: reportName } = options;

  app.get<{ Querystring: HealthQuery }>(
    '/clusterHealth',
    {
      config: { kind: 'own' },
      schema: {
        ...route('getClusterHealth', 'The latest report of the health checks.'),
        'x-docs': {
          ok: 'The report of the latest run.',
          response: {
            runTimestamp: 1_769_846_400_000,
            durationMs: 4200,
            status: 'PASS',
            summary: { pass: 40, fail: 0, failMuted: 0, failBySeverity: { critical: 0, warning: 0, advice: 0 } },
            causes: [],
            checks: [],
            healthCheckResult: { TABLE: { events_OFFLINE: { REPLICATION_CHECK: { pass: true } } } },
            running: null,
            lastComplete: null,
          },
        },
        querystring: HealthQuery,
        response: { 200: ClusterHealth, 400: ErrorBody, 404: ErrorBody, ...errors },
      },
    },
    async (request): Promise<ClusterHealth> => {
      requireAllowed(request, 'GetHealth', clusterResource);
      const { check } = request.query;
      if (check !== undefined && findCheck(check.toUpperCase()) === undefined) {
        throw new HttpError(400, `\`check\` in the query string: ${unknownCheck(check)}`);
      }
      const { status, spec } = store.get('ClusterHealthReport', reportName) ?? {};
      if (asksForEntity(request.query)) requireKnown(status, request.query);
      return clusterHealth(status, request.query, options.clock.now(), spec?.mutes);
    },
  );

  app.put<{ Querystring: Static<typeof StateQuery> }>(
    '/clusterHealth',
    {
      config: { kind: 'own' },
      schema: {
        ...route('setClusterHealthState', 'Enables or disables the periodic runs of the health checks.'),
        'x-docs': {
          ok: 'The state of the periodic task.',
          response: { state: 'ENABLE', message: 'the cluster health task is enabled' },
        },
        querystring: StateQuery,
        response: { 200: Type.Object({ state: Type.String(), message: Type.String() }), 400: ErrorBody, ...errors },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'ExecuteTask', clusterResource, { write: true });
      const enable = request.query.state === 'ENABLE';
      await setSuspend(options, !enable, clientSignal(reply));
      return {
        state: enable ? 'ENABLED' : 'DISABLED',
        message: `the periodic runs of ${TASK_NAME} are ${enable ? 'enabled' : 'disabled'}`,
      };
    },
  );

  app.get(
    '/clusterHealth/list',
    {
      config: { kind: 'own' },
      schema: {
        ...route('listHealthChecks', 'All health checks, in order.'),
        'x-docs': {
          ok: 'All checks.',
          response: [
            {
              name: 'REPLICATION_CHECK',
              title: 'Replication',
              description: 'A segment has fewer online replicas than its table requires.',
              origin: 'specification',
              category: 'segments',
              severity: 'warning',
              defaultThresholds: {},
            },
          ],
        },
        response: { 200: Type.Array(HealthCheckType), ...errors },
      },
    },
    async (request) => {
      requireAllowed(request, 'GetHealth', clusterResource);
      return CATALOGUE.map(({ name, title, description, category, severity, defaultThresholds }) => ({
        name,
        title,
        description,
        origin: originOf(name),
        category,
        severity,
        defaultThresholds,
      }));
    },
  );

  app.get(
    '/clusterHealth/history',
    {
      config: { kind: 'own' },
      schema: {
        ...route('getClusterHealthHistory', 'The last changes of the state of a check, newest first.'),
        'x-docs': {
          ok: 'Up to 100 changes.',
          response: [
            {
              check: 'INSTANCE_HEALTH_API_CHECK',
              from: 'PASS',
              to: 'FAIL',
              time: '2026-01-31T08:00:00.000Z',
              run: 'run-0a1b2c3d',
              findingCount: 1,
            },
          ],
        },
        response: { 200: Type.Array(HealthTransition), ...errors },
      },
    },
    async (request) => {
      requireAllowed(request, 'GetHealth', clusterResource);
      return store.get('ClusterHealthReport', reportName)?.status?.history ?? [];
    },
  );

  muteRoutes(app, options);
  taskRoutes(app, options);
}

function taskRoutes(app: FastifyInstance, options: ClusterHealthOptions): void {
  app.get(
    '/periodictask/names',
    {
      schema: {
        ...route('getPeriodicTaskNames', 'Names of the periodic tasks, including those of the engine.'),
        'x-docs': { ok: 'Names of the periodic tasks.', response: ['ClusterHealthCheckTask'] },
        response: { 200: Type.Array(Type.String()), ...errors },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'GetHealth', clusterResource);
      return knownTasks(options.engine, request, clientSignal(reply));
    },
  );

  app.get<{ Querystring: RunQuery }>(
    '/periodictask/run',
    {
      // A HEAD would run the task.
      exposeHeadRoute: false,
      schema: {
        ...route('runPeriodicTask', 'Runs a periodic task now, or joins the run in progress.'),
        'x-docs': {
          ok: 'The run that was started or joined.',
          response: { taskId: 'api-0a1b2c3d', isSuccessful: true, message: 'the task was started' },
        },
        querystring: RunQuery,
        response: {
          200: TaskRun,
          400: ErrorBody,
          404: ErrorBody,
          502: ErrorBody,
          503: ErrorBody,
          504: ErrorBody,
          ...errors,
        },
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'ExecuteTask', clusterResource, { write: true });
      const taskName = request.query.taskName ?? request.query.taskname;
      if (taskName === undefined) {
        throw new HttpError(400, `\`taskName\` in the query string is missing: set it, such as to \`${TASK_NAME}\``);
      }
      if (taskName === TASK_NAME) return runHealthTask(request, clientSignal(reply), options);
      return forwardTask(request, reply, { ...request.query, taskName }, options.engine);
    },
  );
}

async function runHealthTask(
  request: FastifyRequest<{ Querystring: RunQuery }>,
  signal: AbortSignal,
  options: ClusterHealthOptions,
): Promise<TaskRun> {
  const { taskId, joined } = await requestRun(options, signal);
  if (request.query.wait !== true) {
    const message = joined ? `${TASK_NAME} is already queued or running` : `${TASK_NAME} was queued`;
    return { taskId, isSuccessful: true, message };
  }
  const limit = AbortSignal.timeout(options.maxWaitMs ?? MAX_WAIT_MS);
  const report = await awaitRun(options, taskId, AbortSignal.any([limit, signal]));
  if (report === undefined) {
    throw new HttpError(
      504,
      `the run \`${taskId}\` of ${TASK_NAME} is still in progress; GET /clusterHealth has its progress and result`,
    );
  }
  const { pass = 0, fail = 0 } = report.status ?? {};
  return { taskId, isSuccessful: true, message: `${TASK_NAME} ran: ${pass} checks passed, ${fail} failed` };
}

async function forwardTask(
  request: FastifyRequest,
  reply: FastifyReply,
  parameters: { taskName: string; tableName?: string | undefined; type?: string | undefined },
  engine: Engine,
): Promise<FastifyReply> {
  const signal = clientSignal(reply);
  const response = await runEngineTask(engine, parameters, signal);
  if (response.status === 401) throw credentialRefused();
  if (response.status === 404) {
    const known = (await knownTasks(engine, request, signal)).map((name) => `\`${name}\``).join(', ');
    throw new HttpError(404, `unknown periodic task \`${parameters.taskName}\`; known tasks are ${known}`);
  }
  // The engine's response, unchanged.
  return reply
    .code(response.status)
    .type('application/json; charset=utf-8')
    .serializer((body: unknown) => String(body))
    .send(response.body);
}

/** The health task and the engine's tasks; only the health task while the engine does not respond. */
async function knownTasks(engine: Engine, request: FastifyRequest, signal: AbortSignal): Promise<string[]> {
  try {
    return [TASK_NAME, ...((await engineTaskNames(engine, signal)) ?? [])];
  } catch (error) {
    request.log.warn({ err: error }, 'the engine did not return the names of its periodic tasks');
    return [TASK_NAME];
  }
}
