import { useDraft } from './use-draft.ts';

/** The fields of a form by name. A field that has no input is absent. */
type Input = Readonly<Record<string, string>>;

/** A saved version of a resource. */
export interface SavedVersion {
  readonly etag: string;
  /** The text that the differences show. */
  readonly content: string;
}

export interface VersionedDraft {
  readonly input: Input;
  readonly changed: boolean;
  /** The version on which the unsaved input is based; undefined without input. */
  readonly base: SavedVersion | undefined;
  /** @param shown the version that the input changes, if it is the first one */
  readonly set: (field: string, text: string, shown: SavedVersion) => void;
  /** Discards what was sent. Input since then is unsaved, and based on the saved version. */
  readonly saved: (sent: Input, version: SavedVersion) => void;
  readonly discard: () => void;
}

/** The unsaved input for a resource. It stays while other pages are shown. @param key identifies it, such as `policy/readers` */
export function useVersionedDraft(key: string): VersionedDraft {
  const [draft, setDraft, typed] = useDraft<{ readonly input: Input; readonly base: SavedVersion }>(key);
  const input = draft?.input ?? {};
  return {
    input,
    changed: draft !== undefined,
    base: draft?.base,
    set: (field, text, shown) => {
      const before = typed();
      setDraft({ input: { ...before?.input, [field]: text }, base: before?.base ?? shown });
    },
    saved: (sent, version) => {
      const since = Object.entries(typed()?.input ?? {}).filter(([field, text]) => sent[field] !== text);
      setDraft(since.length === 0 ? undefined : { input: Object.fromEntries(since), base: version });
    },
    discard: () => setDraft(undefined),
  };
}
