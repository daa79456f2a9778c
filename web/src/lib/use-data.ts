import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, messageOfError, onSessionRenewed } from './api.ts';

export interface Data<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly loading: boolean;
  /** Loads again. The current value stays until the new one has arrived. */
  readonly reload: () => void;
  /** Replaces the value, by the response to a change. */
  readonly replace: (value: T) => void;
}

interface DataState<T> {
  readonly value: T | undefined;
  readonly error: string | undefined;
  readonly loading: boolean;
}

/**
 * Loads data when `key` changes, and every `pollMs` milliseconds while the page is visible.
 * The response of a superseded request is ignored. After a 403 it does not poll, because each denied request is an audit record.
 */
export function useData<T>(key: string, load: (signal: AbortSignal) => Promise<T>, pollMs?: number): Data<T> {
  const [state, setState] = useState<DataState<T>>({ value: undefined, error: undefined, loading: true });
  const [forbidden, setForbidden] = useState(false);
  const [turn, setTurn] = useState(0);
  const loadRef = useRef(load);
  loadRef.current = load;
  const keyRef = useRef(key);

  useEffect(() => {
    const abort = new AbortController();
    const sameKey = keyRef.current === key;
    keyRef.current = key;
    setState((old) => ({ value: sameKey ? old.value : undefined, error: old.error, loading: true }));
    loadRef.current(abort.signal).then(
      (value) => {
        if (abort.signal.aborted) return;
        setState({ value, error: undefined, loading: false });
        setForbidden(false);
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        setState((old) => ({ value: old.value, error: messageOfError(error), loading: false }));
        setForbidden(error instanceof ApiError && error.status === 403);
      },
    );
    return () => abort.abort();
  }, [key, turn]);

  const reload = useCallback(() => setTurn((n) => n + 1), []);
  const replace = useCallback((value: T) => setState({ value, error: undefined, loading: false }), []);
  useEffect(() => {
    if (pollMs === undefined || forbidden) return undefined;
    const timer = setInterval(() => {
      if (!document.hidden) reload();
    }, pollMs);
    return () => clearInterval(timer);
  }, [pollMs, forbidden, reload]);
  // After a renewal of the session, reload data that could not be read.
  const failed = state.error !== undefined;
  useEffect(() => (failed ? onSessionRenewed(reload) : undefined), [failed, reload]);
  return { ...state, reload, replace };
}
