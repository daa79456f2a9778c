import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyBaseLogger } from 'fastify';
import type { Authorizer, Decision } from '../../access/authorizer.ts';
import type { Principal } from '../../access/principal.ts';
import { formatSrn, type Srn } from '../../access/policy/srn.ts';
import type { Trail } from '../../platform/trail.ts';
import type { FairQueue } from '../../platform/fair-queue.ts';
import { redactedStart } from '../../platform/credentials-in-text.ts';
import type { Slices, Turn } from '../../platform/long-work.ts';
import type { Login, WriteOutcome } from './audit.ts';
import { HttpError } from './errors.ts';
import { addRequired, dropWrite } from './pending-writes.ts';

/** Writes the records of the audit log. */
export interface Audit {
  /** Records a call that was denied before it did anything. */
  denied(request: RequestContext, action: string, resource: Srn, decision: Decision): void;
  /**
   * For writes, before they change anything.
   * @param changes `access` for those whose record lists what was written
   * @throws {HttpError} 503 while records are required and cannot be written; 429 where the record would exceed the share of the caller
   */
  requireWritable(request: Pick<RequestContext, 'principal'>, changes: 'access' | 'calls'): void;
  /** Records a write with its outcome. */
  written(request: RequestContext, outcome: WriteOutcome): void;
  /** Records a sign-in, a sign-out or a failed login. */
  login(request: RequestContext, login: Login): void;
}

/** Decides when the long work of requests begins: `RequestWork` of `admission/`, which describes the methods. */
export interface WorkTurns {
  bodyTurns(caller: string, bytes: number, isOpen: () => boolean): Turn;
  list<T>(caller: string, work: Slices<T>, signal: AbortSignal): Promise<T>;
  turns(caller: string): Turn;
}

/** The parts of a request that authentication, limits, authorization and audit use. Fastify requests and data plane exchanges implement it. */
export interface RequestContext {
  readonly id: string;
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** From `X-Forwarded-For` where the proxy is trusted. Also known when the client has disconnected. */
  readonly clientAddress: string;
  /** Of the client's connection, from `X-Forwarded-Proto` where the proxy is trusted. */
  readonly protocol: 'http' | 'https';
  readonly log: Pick<FastifyBaseLogger, 'info' | 'warn' | 'error'>;
  /** Set by authentication. It is null before that, despite its type. */
  principal: Principal;
  /** `url` is the route pattern. */
  readonly routeOptions: { readonly url?: string | undefined };
  readonly server: { readonly authorizer: Authorizer; readonly audit: Audit; readonly work: WorkTurns };
  /**
   * Calls back once when the response has closed, complete or not, with its status; undefined if none was sent.
   * @returns false where it has closed already; `call` is not called then
   */
  onAnswered(call: (status: number | undefined) => void): boolean;
  /** Milliseconds until the response headers of a query must arrive. Undefined: the default of the engine connection. */
  queryTimeoutMs?: number | undefined;
  /** Maximum rows in the query response; undefined for no limit. */
  maxRows?: number | undefined;
  /** What the request causes, for its access record and its trace; absent where it has neither. */
  readonly trail?: Trail | undefined;
}

declare module 'fastify' {
  interface FastifyRequest {
    clientAddress: string;
    onAnswered(call: (status: number | undefined) => void): boolean;
    /** Set by the authentication hook before the handlers of routes that are not public. */
    principal: Principal;
    queryTimeoutMs?: number | undefined;
    maxRows?: number | undefined;
    trail?: Trail | undefined;
  }
  interface FastifyInstance {
    authorizer: Authorizer;
    audit: Audit;
    work: WorkTurns;
    /** For bodies. */
    memory: FairQueue;
  }
  interface FastifyContextConfig {
    /** True for routes that need no credential. */
    public?: boolean;
  }
}

/**
 * Throws unless the caller's roles allow `action` on `resource`.
 * @param options.write true for requests that change something: they are recorded with the status of the response, once for all actions. A
 *   caller that knows more about the outcome uses audit.written() instead.
 * @param options.why a sentence for the message: why the request needs this action
 * @param options.shown what the message says in place of a resource that the request does not name in this spelling
 * @throws {HttpError} 403
 */
export function requireAllowed(
  request: RequestContext,
  action: string,
  resource: Srn,
  options: DenialText & { readonly write?: boolean } = {},
): void {
  const { authorizer } = request.server;
  if (!options.write && authorizer.isAllowed(request.principal, action, resource)) {
    noteDecision(request, action, resource, true);
    return;
  }
  const decision = authorizer.decide(request.principal, action, resource);
  if (!decision.allowed) refuse(request, { action, resource, decision }, options);
  noteDecision(request, action, resource, true);
  if (options.write) addRequired(request, { action, resource, decision });
}

/** Refuses an action that the caller was found not to have. @param shown as for `requireAllowed` @throws {HttpError} 403 */
export function refuseAction(request: RequestContext, action: string, resource: Srn, shown?: string): never {
  const decision = request.server.authorizer.decide(request.principal, action, resource);
  return refuse(request, { action, resource, decision }, shown === undefined ? {} : { shown });
}

/** How a message names what was denied. */
interface DenialText {
  readonly why?: string;
  readonly shown?: string;
}

function refuse(
  request: RequestContext,
  { action, resource, decision }: { readonly action: string; readonly resource: Srn; readonly decision: Decision },
  { why, shown = targetOf(resource) }: DenialText,
): never {
  noteDecision(request, action, resource, false);
  dropWrite(request);
  request.server.audit.denied(request, action, resource, decision);
  throw new HttpError(403, withReason(deniedMessage(request.principal, action, shown, decision), why));
}

/** Adds a decision to what is recorded of the request. */
export function noteDecision({ trail }: RequestContext, action: string, resource: Srn, allowed: boolean): void {
  if (trail === undefined) return;
  for (const { kind, id } of resource.levels) if (kind === 'table') trail.addTable(id);
  const span = trail.span?.child('decide', 'internal', {
    'olap_warden.action': action,
    'olap_warden.resource': redactedStart(formatSrn(resource), MAX_RESOURCE_LENGTH),
    'olap_warden.allowed': allowed,
  });
  span?.end();
}

/** Of a span. A name that does not exist may be of any length. */
const MAX_RESOURCE_LENGTH = 256;

/**
 * Throws if a statement of the caller's roles denies `action` on `resource`; it need not be allowed.
 * @param options as for `requireAllowed`
 * @throws {HttpError} 403
 */
export function requireNotDenied(request: RequestContext, action: string, resource: Srn, text: DenialText = {}): void {
  const decision = request.server.authorizer.decide(request.principal, action, resource);
  if (decision.reason === 'explicitDeny') refuse(request, { action, resource, decision }, text);
}

function withReason(message: string, why: string | undefined): string {
  return why === undefined ? message : `${message}. ${why}`;
}

/** How messages name a resource. */
export function targetOf(resource: Srn): string {
  return resource.levels.length === 0 ? 'the cluster' : `\`${formatSrn(resource)}\``;
}

function deniedMessage(principal: Principal, action: string, target: string, decision: Decision): string {
  const why =
    decision.reason === 'explicitDeny'
      ? 'a statement of its roles denies it'
      : decision.reason === 'invalidPolicy'
        ? 'a policy of its roles is invalid, and an invalid policy denies everything'
        : 'no statement of its roles allows it';
  return `\`${principal.srn}\` may not \`${action}\` on ${target}: ${why}`;
}
