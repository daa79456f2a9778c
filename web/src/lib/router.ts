import { useEffect, useState } from 'preact/hooks';

const BASE = '/ui';

export interface Location {
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

/** Sets or removes query parameters, and keeps the others. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const { path, query } = current();
  for (const [key, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  navigate(path + (text === '' ? '' : `?${text}`), true);
}

export const href = (to: string): string => BASE + to;
