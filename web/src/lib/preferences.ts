import { useEffect, useState } from 'preact/hooks';

/** Choices of appearance, kept in the browser for the next visit. They hold nothing about the user or the cluster. */
export interface Preferences {
  /** Undefined: that of the system. */
  readonly theme: 'light' | 'dark' | undefined;
  /** Whether times are shown in UTC instead of the time zone of the browser. */
  readonly utc: boolean;
}

const KEY = 'olap-warden-preferences';

function stored(): Preferences {
  try {
    const { theme, utc } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, unknown>;
    return { theme: theme === 'light' || theme === 'dark' ? theme : undefined, utc: utc === true };
  } catch {
    // The browser blocks the storage, or another program wrote it: the choices last as long as the page.
    return { theme: undefined, utc: false };
  }
}

let current = stored();
const listeners = new Set<() => void>();

/** Applies the theme to the document. */
export function applyTheme(): void {
  if (current.theme === undefined) delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = current.theme;
}

export const preferences = (): Preferences => current;

export function setPreferences(change: Partial<Preferences>): void {
  current = { ...current, ...change };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // As in stored().
  }
  applyTheme();
  for (const listener of listeners) listener();
}

/** The preferences; renders again when one changes. */
export function usePreferences(): Preferences {
  const [state, setState] = useState(current);
  useEffect(() => {
    const listener = (): void => setState(current);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return state;
}
