/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { recordingStore } from '../../access/manager/changes.ts';
import { clusterResource } from '../../access/policy/srn.ts';
import { activeMutes, muteProblem } from '../../health/report/mutes.ts';
import { MAX_MUTES, type Mute } from '../../resources/health-mute.ts';
import type { ClusterHealthReport } from '../../resources/kinds.ts';
import { endOf, parseTime } from '../../resources/time.ts';
import { clientSignal } from '../server/client-signal.ts';
import { write } from '../server/audited-write.ts';
import { requireAllowed } from '../server/context.ts';
import { ErrorBody, HttpError } from '../server/errors.ts';
import { HealthMute, MuteRequest } from './schemas.ts';
import { withReport, type TaskPorts } from './task.ts';

/** Example of the documentation. */
const MUTE = {
  id: 'mute-0a1b2c3d',
  check: 'REPLICATION_CHECK',
  entity: 'staging_*',
  reason: 'one replica until the new servers arrive',
  author: 'srn2:user#ada@example.com',
  until: '2026-03-01T00:00:00Z',
  active: true,
  findingCount: 2,
};

/** An expired mute stays this long, so that the operator reports its end and users see it. */
const KEEP_EXPIRED_MS = 24 * 3_600_000;
const route = (operationId: string, summary: string) => ({ operationId, summary, tags: ['cluster health'] });
const errors = { 401: ErrorBody, 403: ErrorBody };
const MuteParams = Type.Object({ muteId: Type.String({ maxLength: 63, description: 'Id of the mute.' }) });

/** Lists, creates and deletes the mutes of the report. Each write has an audit record with the mute as it is stored. */
export function muteRoutes(app: FastifyInstance, { store, clock, report: name }: TaskPorts): void {
  const ports: TaskPorts = { store: recordingStore(store), clock, report: name };
  app.get(
    '/clusterHealth/mutes',
    {
      config: { kind: 'own' },
      schema: {
        ...route('listHealthMutes', 'The mutes of the health report, those that end first at the top.'),
        'x-docs': { ok: 'All mutes, including expired ones.', response: [MUTE] },
        response: { 200: Type.Array(HealthMute), ...errors },
      },
    },
    async (request): Promise<HealthMute[]> => {
      requireAllowed(request, 'GetHealth', clusterResource);
      const report = ports.store.get('ClusterHealthReport', ports.report);
      return (report?.spec.mutes ?? [])
        .map((mute) => shownMute(mute, report, ports.clock.now()))
        .sort((a, b) => endOf(a.until) - endOf(b.until));
    },
  );

  app.post<{ Body: MuteRequest }>(
    '/clusterHealth/mutes',
    {
      config: { kind: 'own' },
      schema: {
        ...route('createHealthMute', 'Mutes findings of the health checks until a time.'),
        'x-docs': {
          ok: 'The mute. The operator applies it to the report within seconds.',
          request: {
            check: 'REPLICATION_CHECK',
            entity: 'staging_*',
            reason: 'one replica until the new servers arrive',
            until: '2026-03-01T00:00:00Z',
          },
          response: { ...MUTE, findingCount: 0 },
        },
        body: MuteRequest,
        response: { 200: HealthMute, 400: ErrorBody, 409: ErrorBody, 503: ErrorBody, ...errors },
      },
    },
    async (request, reply) => {
      const signal = clientSignal(reply);
      const { body, principal } = request;
      return write(request, 'UpdateHealth', clusterResource, async () => {
        const now = ports.clock.now();
        requireValid(body, now);
        const id = `mute-${Math.floor(ports.clock.random() * 2 ** 32)
          .toString(16)
          .padStart(8, '0')}`;
        const mute: Mute = { id, ...body, author: principal.srn.slice(0, 512) };
        await addMute(ports, mute, signal);
        return shownMute(mute, undefined, now);
      });
    },
  );

  app.delete<{ Params: { muteId: string } }>(
    '/clusterHealth/mutes/:muteId',
    {
      config: { kind: 'own' },
      schema: {
        ...route('deleteHealthMute', 'Deletes a mute: its findings count again.'),
        'x-docs': { ok: 'The deleted mute.', response: { ...MUTE, findingCount: 0 } },
        params: MuteParams,
        response: { 200: HealthMute, 404: ErrorBody, 503: ErrorBody, ...errors },
      },
    },
    async (request, reply) => {
      const signal = clientSignal(reply);
      const { muteId } = request.params;
      const remove = async (): Promise<HealthMute> => {
        const mute = await removeMute(ports, muteId, signal);
        return shownMute(mute, undefined, ports.clock.now());
      };
      return write(request, 'UpdateHealth', clusterResource, remove, {
        called: { path: `/clusterHealth/mutes/${muteId}` },
      });
    },
  );
}

/** Rejects what the resource's schema cannot: unknown checks, and the end of the mute. @throws {HttpError} 400 */
function requireValid({ check = '*', entity, until }: MuteRequest, now: number): void {
  const problem = muteProblem({ check, entity, until }, now);
  if (problem !== undefined) throw new HttpError(400, `\`${problem.replace(': ', '` in the body: ')}`);
  if (endOf(until) <= now) {
    throw new HttpError(400, `\`until\` in the body: \`${until}\` is in the past; it must be at most 90 days ahead`);
  }
}

async function addMute(ports: TaskPorts, mute: Mute, signal: AbortSignal): Promise<void> {
  await withReport(ports, signal, async (report) => {
    const now = ports.clock.now();
    const kept = (report.spec.mutes ?? []).filter(({ until }) => (parseTime(until) ?? now) + KEEP_EXPIRED_MS > now);
    if (kept.length >= MAX_MUTES) {
      throw new HttpError(409, `the report has ${MAX_MUTES} mutes already: delete one, or use \`*\` in \`entity\``);
    }
    await ports.store.update('ClusterHealthReport', withMutesOf(report, [...kept, mute]), { signal });
  });
}

async function removeMute(ports: TaskPorts, id: string, signal: AbortSignal): Promise<Mute> {
  return withReport(ports, signal, async (report) => {
    const mutes = report.spec.mutes ?? [];
    const mute = mutes.find((candidate) => candidate.id === id);
    if (mute === undefined) throw new HttpError(404, `there is no mute \`${id}\`; GET /clusterHealth/mutes lists them`);
    await ports.store.update(
      'ClusterHealthReport',
      withMutesOf(
        report,
        mutes.filter((other) => other !== mute),
      ),
      { signal },
    );
    return mute;
  });
}

function withMutesOf(report: ClusterHealthReport, mutes: Mute[]): ClusterHealthReport {
  return { ...report, spec: { ...report.spec, mutes } };
}

function shownMute(mute: Mute, report: ClusterHealthReport | undefined, now: number): HealthMute {
  const counted = report?.status?.mutes?.find(({ id }) => id === mute.id);
  const active = activeMutes([mute], now).length > 0;
  return { check: '*', ...mute, active, findingCount: active ? (counted?.findingCount ?? 0) : 0 };
}
