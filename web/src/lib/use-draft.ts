import { useReducer } from 'preact/hooks';

/** Unsaved input, in memory: kept while the user visits other pages of the dashboard, lost with the window. */
const drafts = new Map<string, string>();

/**
 * Like `useState`, for unsaved text: it is kept under `key` when the component is unmounted.
 * @param key identifies the text, such as `policy/readers/document`
 * @returns the text, undefined when there is none; set undefined to discard it. The third value reads the text at the time of the call, also after
 *   an `await`
 */
export function useDraft(
  key: string,
): [string | undefined, (text: string | undefined) => void, () => string | undefined] {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const set = (text: string | undefined): void => {
    if (text === undefined) drafts.delete(key);
    else drafts.set(key, text);
    redraw(undefined);
  };
  return [drafts.get(key), set, () => drafts.get(key)];
}

/** Discards all unsaved input, at sign-out. */
export function clearDrafts(): void {
  drafts.clear();
}
