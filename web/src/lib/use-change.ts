import { useState } from 'preact/hooks';
import { call, messageOfError } from './api.ts';

export interface Change {
  /** What the gateway said of the last change where it failed. */
  readonly error: string | undefined;
  /** Does something; its error is shown where it happened. @returns whether it was done */
  readonly attempt: (work: () => Promise<unknown>) => Promise<boolean>;
  readonly send: (path: string, method: 'POST' | 'PUT' | 'DELETE', body?: unknown) => Promise<boolean>;
  readonly forget: () => void;
}

/** @param after what shows what may have changed, loaded again after each change that was tried */
export function useChange(after?: () => void): Change {
  const [error, setError] = useState<string>();
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      setError(undefined);
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
    send: (path, method, body) => attempt(() => call(path, { method, ...(body !== undefined && { body }) })),
    forget: () => setError(undefined),
  };
}
