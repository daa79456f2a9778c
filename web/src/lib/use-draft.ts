import { useReducer } from 'preact/hooks';

/** What was typed and not saved yet, in memory alone: it outlives a look at something else, not the page. */
const drafts = new Map<string, string>();

/**
 * As `useState`, for text that somebody types: whoever comes back to `place` finds it again.
 * @param place what the text is of, such as `policy/readers/document`
 * @returns undefined where nothing was typed; set that to drop what was
 */
export function useDraft(place: string): [string | undefined, (text: string | undefined) => void] {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const set = (text: string | undefined): void => {
    if (text === undefined) drafts.delete(place);
    else drafts.set(place, text);
    redraw(undefined);
  };
  return [drafts.get(place), set];
}

/** For whoever signs in next. */
export function dropDrafts(): void {
  drafts.clear();
}
