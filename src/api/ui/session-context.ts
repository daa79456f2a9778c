/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import { clusterResource } from '../../access/policy/srn.ts';
import { ErrorBody } from '../server/errors.ts';
import { accessOf, type CallerDirectory } from './caller-view.ts';

/** The actions on the cluster that decide which parts of the dashboard are shown. */
const CLUSTER_ACTIONS = [
  'GetHealth',
  'UpdateHealth',
  'ExecuteTask',
  'SimulateAccess',
  'GetResponseStore',
  'DeleteResponseStore',
  'GetInstance',
  'GetTenant',
] as const;

/** What the dashboard shows about the installation. */
export interface InstallationLabel {
  readonly environment: string;
  readonly cluster: string;
  /** Name of a colour; undefined for none. */
  readonly colour: string | undefined;
  /** Whom to ask for access; undefined if not set. */
  readonly contact: string | undefined;
}

const SessionContext = Type.Object(
  {
    environment: Type.String({ description: 'The setting `environment`.' }),
    cluster: Type.String({ description: 'The setting `cluster`.' }),
    colour: Type.Union([Type.String(), Type.Null()], { description: 'The setting `ui-colour`.' }),
    contact: Type.Union([Type.String(), Type.Null()], { description: 'The setting `ui-contact`.' }),
    caller: Type.String({
      description: 'How the caller is named: its address or user name; a service token by its description.',
    }),
    access: Type.Record(Type.String(), Type.Array(Type.String()), {
      description:
        'The actions on roles, policies and service tokens that statements allow the caller, each with patterns of the names, at most 20. Denies are not subtracted.',
    }),
    clusterActions: Type.Array(Type.String(), {
      description: `The actions that the caller may do on the cluster, of those that the dashboard needs: ${CLUSTER_ACTIONS.join(', ')}.`,
    }),
  },
  { $id: 'SessionContext' },
);

/**
 * `GET /ui/session`: the installation, and which parts of the dashboard the caller may use. It grants nothing, and because the caller has tried
 * nothing, it writes no denial to the audit log, counts no decision, and marks no role as used.
 */
export function registerSessionContext(
  app: FastifyInstance,
  { label, directory }: { readonly label: InstallationLabel; readonly directory: CallerDirectory },
): void {
  app.get(
    '/ui/session',
    {
      schema: {
        operationId: 'getSession',
        'x-docs': {
          ok: 'The installation, and what the caller may do.',
          response: {
            environment: 'production',
            cluster: 'pinot-eu1',
            colour: 'red',
            contact: 'the data platform team, #data-help',
            caller: 'ada@example.com',
            access: { GetRole: ['*'], CreateRole: ['team-a-*'] },
            clusterActions: ['GetHealth', 'GetResponseStore'],
          },
        },
        tags: ['dashboard'],
        summary: 'What the dashboard shows to the caller: the installation, and the permitted actions on the cluster.',
        response: { 200: SessionContext, 401: ErrorBody },
      },
    },
    async (request): Promise<Static<typeof SessionContext>> => {
      const { authorizer } = request.server;
      return {
        environment: label.environment,
        cluster: label.cluster,
        colour: label.colour ?? null,
        contact: label.contact ?? null,
        caller: directory.nameOf(request.principal),
        access: accessOf(directory, request.principal),
        clusterActions: CLUSTER_ACTIONS.filter((action) =>
          authorizer.wouldAllow(request.principal, action, clusterResource),
        ),
      };
    },
  );
}
