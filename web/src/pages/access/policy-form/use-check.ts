import { useRef } from 'preact/hooks';
import { ApiError, call, rbac } from '../../../lib/api.ts';
import type { PolicyPreview } from '../../../lib/types.ts';
import { useData } from '../../../lib/use-data.ts';
import { useSettled } from '../../../lib/use-settled.ts';

/** What is tried. */
export interface Trial {
  /** Undefined where no table can be queried by the document. */
  readonly sql: string | undefined;
  readonly values: Readonly<Record<string, readonly string[]>>;
}

export interface Checked {
  /** Undefined while the gateway was not asked. */
  readonly preview: PolicyPreview | undefined;
  /** Why the caller gets no preview. */
  readonly denied?: string;
  /** An error in the document, with its path. */
  readonly invalid?: string;
}

/** Denied requests by their query; each one is a record of the audit log, so none is repeated. */
type Denied = Map<string, string>;
/** The key of the request without a query. */
const DOCUMENT_ONLY = '';
const MAX_DENIED = 100;

async function send(document: string, trial: Trial | undefined, signal: AbortSignal): Promise<PolicyPreview> {
  const body = { policyDocumentJson: document, ...trial };
  return call<PolicyPreview>(rbac('/preview-policy'), { method: 'POST', body, signal, timeoutMs: 20_000 });
}

/** @returns undefined if the caller may not */
async function sendUnlessDenied(
  denied: Denied,
  key: string,
  ask: () => Promise<PolicyPreview>,
): Promise<PolicyPreview | undefined> {
  if (denied.has(key)) return undefined;
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 403)) throw error;
    if (denied.size >= MAX_DENIED) denied.clear();
    denied.set(key, error.message);
    return undefined;
  }
}

async function check(denied: Denied, document: string, trial: Trial, signal: AbortSignal): Promise<Checked> {
  try {
    const { sql } = trial;
    const preview =
      sql === undefined ? undefined : await sendUnlessDenied(denied, sql, () => send(document, trial, signal));
    if (preview !== undefined) return { preview };
    // The document can be checked without the right to see the tables of the query.
    await sendUnlessDenied(denied, DOCUMENT_ONLY, () => send(document, undefined, signal));
    const why = denied.get(DOCUMENT_ONLY) ?? denied.get(sql ?? DOCUMENT_ONLY);
    return { preview: undefined, ...(why !== undefined && { denied: why }) };
  } catch (error) {
    if (error instanceof ApiError && error.status === 400) return { preview: undefined, invalid: error.message };
    throw error;
  }
}

export interface Check {
  /** Of the last document and trial that were checked. */
  readonly checked: Checked | undefined;
  readonly error: string | undefined;
  readonly retry: () => void;
}

/** Checks a document while it is edited, and asks what becomes of a query. @param document JSON; undefined for none to check */
export function useCheck(document: string | undefined, trial: Trial): Check {
  const denied = useRef<Denied>(new Map());
  const key = useSettled(JSON.stringify([document, trial]));
  const data = useData(key, async (signal): Promise<Checked> => {
    const [settled, asked] = JSON.parse(key) as [string | null, Trial];
    return settled === null ? { preview: undefined } : check(denied.current, settled, asked, signal);
  });
  // While the next response is awaited, the last one stays.
  const last = useRef<Checked | undefined>(undefined);
  if (data.value !== undefined) last.current = data.value;
  return { checked: last.current, error: data.error, retry: data.reload };
}
