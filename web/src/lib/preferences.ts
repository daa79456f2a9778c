import { useEffect, useState } from 'preact/hooks';

/** Choices of appearance, kept in the browser for the next visit. They hold nothing about the user or the cluster. */
interface Preferences {
  /** Undefined: that of the system. */
  readonly theme: 'light' | 'dark' | undefined;
  /** Whether times are shown in UTC instead of the time zone of the browser. */
  readonly utc: boolean;
  /** Chosen widths of columns in pixels, by a key that does not reveal the name; undefined for none. */
  readonly widths: Readonly<Record<string, number>> | undefined;
}

const KEY = 'olap-warden-preferences';

function stored(): Preferences {
  try {
    const { theme, utc, widths } = JSON.parse(localStorage.getItem(KEY) ?? '{}') as Record<string, unknown>;
    return {
      theme: theme === 'light' || theme === 'dark' ? theme : undefined,
      utc: utc === true,
      widths: numbersOf(widths),
    };
  } catch {
    // The browser blocks the storage, or another program wrote it: the choices last as long as the page.
    return { theme: undefined, utc: false, widths: undefined };
  }
}

function numbersOf(value: unknown): Preferences['widths'] {
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value).filter((entry): entry is [string, number] => Number.isFinite(entry[1]));
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
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
