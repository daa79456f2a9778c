import { formatSrn } from '../../access/policy/srn.ts';
import { DECIDING_PARAMETERS } from '../../pinot/call-actions.ts';
import type { RequestContext } from './context.ts';
import type { Called, Required } from './audit.ts';
import { CLIENT_CLOSED, HttpError } from './errors.ts';

/** Other required actions that a record lists; more are only counted. */
export const MAX_ALSO = 20;
const MAX_PATH = 2048;
const MAX_PARAMETER = 512;

/** Parameters that are recorded. Others can contain credentials, such as `batchConfigMapStr` of `/ingestFromURI`. */
const AUDITED_PARAMETERS: ReadonlySet<string> = new Set([
  ...DECIDING_PARAMETERS,
  'dryRun',
  'retention',
  'segmentNames',
  'segments',
  'tableType',
  'taskName',
  'taskType',
  'type',
]);

interface PendingWrite {
  readonly required: Map<string, Required>;
  count: number;
  /** Path and query string as they are forwarded; undefined for a call of the gateway itself. */
  forwardedAs: string | undefined;
  denied: boolean;
}

/** The writes whose response has not closed yet. A request is recorded once, however many actions it requires. */
const pending = new WeakMap<RequestContext, PendingWrite>();

/**
 * Adds an allowed action to the write of this request. Its record is written when the response closes.
 * @throws {HttpError} 499 where the client has disconnected already, 503 or 429 where the write would
 *   have no record
 */
export function addRequired(request: RequestContext, required: Required): void {
  let write = pending.get(request);
  if (write === undefined) {
    request.server.audit.requireWritable(request, 'calls');
    write = { required: new Map(), count: 0, forwardedAs: undefined, denied: false };
    if (!request.onAnswered((status) => record(request, status))) {
      throw new HttpError(CLIENT_CLOSED, 'the client disconnected before the request was authorized');
    }
    pending.set(request, write);
  }
  const key = `${required.action} ${formatSrn(required.resource)}`;
  if (write.required.has(key)) return;
  write.count += 1;
  if (write.required.size <= MAX_ALSO) write.required.set(key, required);
}

/** Another action of this request was denied, which has a record of its own: nothing is written. */
export function dropWrite(request: RequestContext): void {
  const write = pending.get(request);
  if (write !== undefined) write.denied = true;
}

/** Tells the record of the request what is forwarded to the engine. @param path with the query string, as it was authorized */
export function writeForwardedAs(request: RequestContext, path: string): void {
  const write = pending.get(request);
  if (write !== undefined) write.forwardedAs = path;
}

function record(request: RequestContext, status: number | undefined): void {
  const write = pending.get(request);
  const [first, ...also] = write === undefined ? [] : write.required.values();
  if (write === undefined || first === undefined || write.denied) return;
  request.server.audit.written(request, {
    ...first,
    status,
    called: calledBy(write.forwardedAs ?? request.url),
    also: also.map(({ action, resource }) => ({ action, resource })),
    alsoCount: write.count - 1,
  });
}

function calledBy(url: string): Called {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const parameters: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(mark < 0 ? '' : url.slice(mark))) {
    if (!AUDITED_PARAMETERS.has(name)) continue;
    const known = parameters[name];
    parameters[name] = shortened(known === undefined ? value : `${known},${value}`, MAX_PARAMETER);
  }
  const named = Object.keys(parameters).length > 0;
  return { path: shortened(path, MAX_PATH), ...(named ? { parameters } : {}) };
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}
