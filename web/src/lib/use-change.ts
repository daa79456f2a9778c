import { useState } from 'preact/hooks';
import { call, messageOfError } from './api.ts';
import { notify, warningsOf } from './notices.ts';

export interface Change {
  /** Error of the last change; undefined on success. */
  readonly error: string | undefined;
  /** Runs a change, keeps its error, and shows the warnings of the response that it resolves to. @returns whether it succeeded */
  readonly attempt: (work: () => Promise<unknown>) => Promise<boolean>;
  readonly send: (
    path: string,
    method: 'POST' | 'PUT' | 'DELETE',
    body?: unknown,
    headers?: Record<string, string>,
  ) => Promise<boolean>;
  readonly clearError: () => void;
}

/** @param after called after each change, also after a failed one, to reload the data */
export function useChange(after?: () => void): Change {
  const [error, setError] = useState<string>();
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      const texts = warningsOf(await work());
      setError(undefined);
      if (texts.length > 0) notify({ texts, tone: 'warn' });
      return true;
    } catch (failure) {
      setError(messageOfError(failure));
      return false;
    } finally {
      after?.();
    }
  };
  return {
    error,
    attempt,
    send: (path, method, body, headers = {}) =>
      attempt(() => call(path, { method, headers, ...(body !== undefined && { body }) })),
    clearError: () => setError(undefined),
  };
}
