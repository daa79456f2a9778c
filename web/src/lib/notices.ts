import { useEffect, useReducer } from 'preact/hooks';

/** What a change led to, shown on every page until it is closed. */
export interface Notice {
  readonly id: number;
  readonly texts: readonly string[];
  readonly tone: 'warn' | 'plain';
  /** Takes the change back; absent where that is not possible. */
  readonly undo?: () => Promise<unknown>;
}

/** Older notices are removed. */
const MAX_NOTICES = 4;

let notices: readonly Notice[] = [];
let lastId = 0;
const listeners = new Set<() => void>();

function show(next: readonly Notice[]): void {
  notices = next;
  for (const listener of listeners) listener();
}

/** @param lifetimeMs when it closes by itself, milliseconds; absent for one that stays */
export function notify(notice: Omit<Notice, 'id'>, lifetimeMs?: number): void {
  const id = ++lastId;
  show([...notices, { ...notice, id }].slice(-MAX_NOTICES));
  if (lifetimeMs !== undefined) setTimeout(() => closeNotice(id), lifetimeMs);
}

export function closeNotice(id: number): void {
  show(notices.filter((notice) => notice.id !== id));
}

/** Closes all notices, at sign-out. */
export function clearNotices(): void {
  show([]);
}

export function useNotices(): readonly Notice[] {
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listener = (): void => redraw(undefined);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return notices;
}

/** Time to take a change back, milliseconds. */
const UNDO_MS = 10_000;

/** Says what a change did, and offers for ten seconds to take it back. */
export function offerUndo(text: string, undo: () => Promise<unknown>): void {
  notify({ texts: [text], tone: 'plain', undo }, UNDO_MS);
}

/** The field `warnings` of a response. */
export function warningsOf(response: unknown): readonly string[] {
  if (typeof response !== 'object' || response === null || !('warnings' in response)) return [];
  const { warnings } = response;
  return Array.isArray(warnings) ? warnings.filter((warning) => typeof warning === 'string') : [];
}
