/// <reference types="@fastify/swagger" />
import { STATEMENT, AUTHOR, ROLE, SUMMARY, SUBJECT } from './examples.ts';
import type { FastifyInstance } from 'fastify';
import type { DecidingStatement } from '../../access/authorizer.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { requireDocument } from '../../access/manager/policies.ts';
import { reference } from '../../access/manager/views.ts';
import { claimValue } from '../../access/policy/conditions/caller-values.ts';
import type { PartialDecision } from '../../access/policy/conditions/partly-allowed.ts';
import { subjectTypeOf, type SimulatedRequest } from '../../access/policy/simulate.ts';
import type { Principal } from '../../access/principal.ts';
import { assignmentsRight, type MayDo } from '../../access/readable-text.ts';
import { clusterResource, policyResource, srnText } from '../../access/policy/srn.ts';
import type { Slices } from '../../platform/long-work.ts';
import type { PolicySpec, Statement } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { requireAllowed } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import {
  SimulateAccessRequest,
  SimulateAccessResponse,
  WhoAmI,
  type MatchedStatement as Matched,
} from './schemas/access.ts';
import { inTurn } from './lists.ts';
import { readQuestions } from './questions.ts';
import { mayRead, responsesOf } from './support.ts';

interface AskedRequest {
  readonly resourceSrn2String: string;
  readonly action: string;
}

const FIELDS = { action: '`action` in the body', resource: '`resourceSrn2String` in the body' };

type Answer = Required<Pick<SimulateAccessResponse, 'decision' | 'reason' | 'matchedStatements'>> &
  Pick<SimulateAccessResponse, 'conditions' | 'statementsOmitted'>;

const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['access'] });

export function accessRoutes(app: FastifyInstance, manager: RbacManager): void {
  app.get(
    '/whoami',
    {
      schema: {
        ...describe('whoAmI', 'The caller with its subjects, roles and policies.'),
        'x-docs': {
          ok: 'The caller.',
          response: {
            srn: AUTHOR,
            kind: 'user',
            authenticator: 'oidc',
            subjects: [{ subject: 'ada@example.com', subjectType: 'user-email' }],
            roles: [{ name: ROLE.name, srn: ROLE.srn }],
            assignments: [{ role: ROLE.name, ...SUBJECT, expiresAt: '2026-12-31T00:00:00.000Z' }],
            policies: [{ name: SUMMARY.name, srn: SUMMARY.srn }],
            values: {
              'subject.email': ['ada@example.com'],
              'subject.user': ['ada@example.com'],
              'subject.domain': ['example.com'],
            },
          },
        },
        response: responsesOf(WhoAmI),
      },
    },
    async (request) => {
      const { subjects, assignments, ...rest } = manager.whoAmI(request.principal);
      return {
        ...rest,
        subjects: subjects.map(subjectView),
        assignments: assignments.map(({ role, subject: { type, name }, expiresAt }) => ({
          role,
          subject: name,
          subjectType: type,
          expiresAt,
        })),
      };
    },
  );

  app.post<{ Body: SimulateAccessRequest }>(
    '/simulate-access',
    {
      schema: {
        ...describe('simulateAccess', 'The decision for given subjects, and the statements that determine it.'),
        'x-docs': {
          ok: 'The decisions with their reasons.',
          request: {
            subjectTypeToSubject: { 'user-email': 'ada@example.com' },
            resourceSrn2String: 'srn2:table#events',
            action: 'Query',
          },
          response: {
            principal: {
              subjects: [{ subject: 'ada@example.com', subjectType: 'user-email' }],
              roles: [{ name: ROLE.name, srn: ROLE.srn }],
            },
            decision: 'ALLOW',
            reason: 'allowed',
            matchedStatements: [
              {
                role: ROLE.name,
                policy: SUMMARY.name,
                roleSrn: ROLE.srn,
                policySrn: SUMMARY.srn,
                statementIndex: 0,
                ...STATEMENT,
              },
            ],
          },
        },
        body: SimulateAccessRequest,
        response: responsesOf(SimulateAccessResponse, 400),
      },
    },
    async (request, reply): Promise<SimulateAccessResponse> => {
      requireAllowed(request, 'SimulateAccess', clusterResource);
      const asked = questionsOf(request.body);
      const questions = asked.map(({ resourceSrn2String: resource, action }) => ({ resource, action }));
      const requests = await readQuestions(manager, questions, FIELDS);
      const may: MayDo = (action, resource) => mayRead(request, { action, resource });
      return inTurn(request, reply, simulateAccess(manager, request.body, { asked, requests, may }));
    },
  );
}

/** Maximum statements, and characters of statement texts, in one simulation response. */
const MAX_LISTED_STATEMENTS = 1000;
const MAX_LISTED_CHARACTERS = 256 * 1024;

/** Remaining statements and characters of a simulation response. Without it, 1,000 results could repeat the same long policy. */
interface Remaining {
  statements: number;
  characters: number;
}

interface Questions {
  readonly asked: readonly AskedRequest[];
  readonly requests: readonly SimulatedRequest[];
  /** The rights of the caller: only what it may read is shown. */
  readonly may: MayDo;
}

function* simulateAccess(
  manager: RbacManager,
  body: SimulateAccessRequest,
  { asked, requests, may }: Questions,
): Slices<SimulateAccessResponse> {
  const unsaved =
    body.policyDocumentJson === undefined && body.policyDocument === undefined ? undefined : requireDocument(body);
  const simulation = yield* manager.simulate({ subjects: subjectsOf(body), claims: claimsOf(body) }, unsaved, requests);
  const { subjects, roles, decisions } = simulation;
  const remaining: Remaining = { statements: MAX_LISTED_STATEMENTS, characters: MAX_LISTED_CHARACTERS };
  const answered = decisions.map((decision) => answerView(manager, readablePart(decision, may), unsaved, remaining));
  const readable = roles.filter((role) => mayReadRole(role, may));
  const principal = { subjects: subjects.map(subjectView), roles: readable.map((role) => reference('role', role)) };
  if (!body.requests) return { principal, ...answered[0] };
  return { principal, results: answered.map((answer, index) => Object.assign(answer, asked[index])) };
}

function questionsOf(body: SimulateAccessRequest): readonly AskedRequest[] {
  const { resourceSrn2String, action, requests } = body;
  if (requests) {
    if (resourceSrn2String === undefined && action === undefined) return requests;
    throw new HttpError(400, 'the body: send either `requests`, or `resourceSrn2String` and `action`, not both');
  }
  if (resourceSrn2String === undefined) throw missing('resourceSrn2String', 'srn2:table#events');
  if (action === undefined) throw missing('action', 'Query');
  return [{ resourceSrn2String, action }];
}

function missing(field: string, example: string): HttpError {
  return new HttpError(
    400,
    `\`${field}\` in the body: is missing, such as \`${example}\`; or send \`requests\` for many`,
  );
}

function subjectsOf({ subjectTypeToSubject }: SimulateAccessRequest): Subject[] {
  const subjects: Subject[] = [];
  for (const [key, ids] of Object.entries(subjectTypeToSubject)) {
    const type = subjectTypeOf(key);
    if (type === undefined || ids === undefined) continue;
    for (const name of [ids].flat()) subjects.push({ type, name });
  }
  if (subjects.length > 0) return subjects;
  throw new HttpError(
    400,
    '`subjectTypeToSubject` in the body: needs at least one subject, such as `{"user-email": "ada@example.com"}`',
  );
}

/** @throws {HttpError} 400 for a claim that no token could have for a row filter */
function claimsOf({ claims = {} }: SimulateAccessRequest): Principal['claims'] {
  const values = Object.entries(claims).map(([name, claim]) => {
    const value = claimValue(claim);
    if (value !== undefined) return [name, value] as const;
    throw new HttpError(
      400,
      `\`claims.${name.slice(0, MAX_SHOWN)}\` in the body: must be a text, a number, a boolean, or a list of texts or of numbers, and not empty`,
    );
  });
  return Object.fromEntries(values);
}

const MAX_SHOWN = 80;

/** Who has a role is read with its assignments. */
function mayReadRole(role: string, may: MayDo): boolean {
  const { action, resource } = assignmentsRight(role);
  return may(action, resource);
}

type ReadablePart = PartialDecision & { readonly omitted: boolean };

/** The decision with the statements that the caller may read: that the subject has the role, and what the policy contains. */
function readablePart(decision: PartialDecision, may: MayDo): ReadablePart {
  const matchedStatements = decision.matchedStatements.filter(({ role, policy }) => {
    if (role !== undefined && !mayReadRole(role, may)) return false;
    return policy === undefined || may('GetPolicy', policyResource(policy));
  });
  return { ...decision, matchedStatements, omitted: matchedStatements.length < decision.matchedStatements.length };
}

function answerView(
  manager: RbacManager,
  { allowed, reason, matchedStatements, conditions, omitted }: ReadablePart,
  unsaved: PolicySpec | undefined,
  remaining: Remaining,
): Answer {
  const listed = matchedStatements.slice(0, Math.max(1, remaining.statements));
  remaining.statements -= listed.length;
  return {
    decision: reason === 'conditional' ? 'CONDITIONAL' : allowed ? 'ALLOW' : 'DENY',
    reason,
    matchedStatements: listed.map((matched) => statementView(manager, matched, unsaved, remaining)),
    // Conditions are those of all statements together.
    ...(conditions && !omitted && spend(remaining, JSON.stringify(conditions).length) && { conditions }),
    ...(omitted && { statementsOmitted: true }),
  };
}

function statementView(
  manager: RbacManager,
  { role, policy, statementIndex, effect }: DecidingStatement,
  unsaved: PolicySpec | undefined,
  remaining: Remaining,
): Matched {
  const spec = policy === undefined ? unsaved : manager.policies.specOf(policy);
  const statement = spec?.statements?.[statementIndex];
  return {
    role: role ?? null,
    policy: policy ?? null,
    roleSrn: role === undefined ? null : srnText('role', role),
    policySrn: policy === undefined ? null : srnText('policy', policy),
    statementIndex,
    effect,
    ...(statement === undefined ? {} : textOf(statement, remaining)),
  };
}

function textOf(statement: Statement, remaining: Remaining): Partial<Matched> {
  const { description, actions, resources, conditions } = statement;
  const texts = [description ?? '', ...(actions ?? []), ...resources, conditions ? JSON.stringify(conditions) : ''];
  if (
    !spend(
      remaining,
      texts.reduce((sum, { length }) => sum + length, 0),
    )
  )
    return {};
  return {
    ...(description !== undefined && { description }),
    ...(actions && { actions }),
    resources,
    ...(conditions && { conditions }),
  };
}

/** Takes characters of what remains. @returns false if there are fewer */
function spend(remaining: Remaining, characters: number): boolean {
  if (characters > remaining.characters) return false;
  remaining.characters -= characters;
  return true;
}

function subjectView({ type, name }: Subject) {
  return { subject: name, subjectType: type };
}
