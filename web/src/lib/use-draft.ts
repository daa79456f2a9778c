import { useReducer } from 'preact/hooks';

/**
 * Unsaved input: kept while the user visits other pages and reloads this one, until the window is closed or the user signs out. It is in the
 * storage of the window, so that no other window sees it, and in memory where the browser blocks the storage or its space is used up.
 */
const drafts = new Map<string, unknown>();
const PREFIX = 'olap-warden-draft/';

function restore(): void {
  try {
    for (const [key, text] of Object.entries(sessionStorage))
      if (key.startsWith(PREFIX)) drafts.set(key.slice(PREFIX.length), JSON.parse(String(text)));
  } catch {
    // The browser blocks the storage, or another program wrote it.
  }
}
restore();

/** @returns false where the browser blocks the storage, or its space is used up */
function write(change: (storage: Storage) => void): boolean {
  try {
    change(sessionStorage);
    return true;
  } catch {
    return false;
  }
}

function store(key: string, input: unknown): void {
  const isStored = input !== undefined && write((storage) => storage.setItem(PREFIX + key, JSON.stringify(input)));
  // An older input would return after a reload.
  if (!isStored) write((storage) => storage.removeItem(PREFIX + key));
}

/**
 * Like `useState`, for unsaved input: it is kept under `key` when the component is unmounted.
 * @param key identifies the input, such as `policy/readers`; the input is what JSON can express
 * @returns the input, undefined when there is none; set undefined to discard it. The third value reads the input at the time of the call, also
 *   after an `await`
 */
export function useDraft<T>(key: string): [T | undefined, (input: T | undefined) => void, () => T | undefined] {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const read = (): T | undefined => drafts.get(key) as T | undefined;
  const set = (input: T | undefined): void => {
    if (input === undefined) drafts.delete(key);
    else drafts.set(key, input);
    store(key, input);
    redraw(undefined);
  };
  return [read(), set, read];
}

/** Unsaved input with a value for none. @returns the input or `initial`, and functions that set and discard it */
export function useDraftOr<T>(key: string, initial: T): [T, (input: T) => void, () => void] {
  const [input, set] = useDraft<T>(key);
  return [input ?? initial, set, () => set(undefined)];
}

/** Discards all unsaved input, at sign-out. */
export function clearDrafts(): void {
  for (const key of drafts.keys()) store(key, undefined);
  drafts.clear();
}
