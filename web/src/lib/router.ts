import { useEffect, useState } from 'preact/hooks';

const BASE = '/ui';

interface Location {
  /** Path below /ui; begins with `/`. */
  readonly path: string;
  readonly query: URLSearchParams;
}

function current(): Location {
  const path = location.pathname.startsWith(BASE) ? location.pathname.slice(BASE.length) : '/';
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) };
}

const listeners = new Set<() => void>();
addEventListener('popstate', () => {
  for (const listener of listeners) listener();
});

/** Goes to a path below /ui. @param replace true to replace the current history entry */
export function navigate(to: string, replace = false): void {
  if (replace) history.replaceState(null, '', BASE + to);
  else history.pushState(null, '', BASE + to);
  for (const listener of listeners) listener();
}

/** The current path and query. Each state of a page has a URL. */
export function useLocation(): Location {
  const [state, setState] = useState(current);
  useEffect(() => {
    const listener = (): void => setState(current());
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return state;
}

/**
 * Sets or removes query parameters, and keeps the others. Each choice is an entry of the history, so that Back undoes it.
 * @param replace true to replace the current entry: while the user types, and for a consequence of the last choice
 */
export function setQuery(changes: Record<string, string | undefined>, replace = false): void {
  const { path, query } = current();
  const before = query.toString();
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  if (text !== before) navigate(path + (text === '' ? '' : `?${text}`), replace);
}

/** The number of times that the user went back or forward: a key for components whose fields must follow the address then. */
export function useHistoryMoves(): number {
  const [moves, setMoves] = useState(0);
  useEffect(() => {
    const listener = (): void => setMoves((count) => count + 1);
    addEventListener('popstate', listener);
    return () => removeEventListener('popstate', listener);
  }, []);
  return moves;
}

export const href = (to: string): string => BASE + to;
