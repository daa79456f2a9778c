import { useDraft } from '../../lib/use-draft.ts';

interface Input {
  readonly text: string | undefined;
  readonly description: string | undefined;
}

/** A saved version of a policy. */
interface Version {
  readonly etag: string;
  /** Description and document, as the differences show them. */
  readonly content: string;
}

export interface PolicyDraft extends Input {
  /** The version on which the unsaved input is based; undefined without input. */
  readonly version: string | undefined;
  /** The content of that version. */
  readonly content: string | undefined;
  /** @param base the shown version */
  readonly setText: (text: string, base: Version) => void;
  readonly setDescription: (description: string, base: Version) => void;
  /** Discards what was sent. Input since then is unsaved, and based on the saved version. */
  readonly saved: (sent: Input, version: Version) => void;
  readonly discard: () => void;
}

/** The unsaved input for a policy. It stays while other pages are shown. */
export function usePolicyDraft(name: string): PolicyDraft {
  const [text, setText, typedText] = useDraft(`policy/${name}/document`);
  const [description, setDescription, typedDescription] = useDraft(`policy/${name}/description`);
  const [version, setVersion] = useDraft(`policy/${name}/version`);
  const [content, setContent] = useDraft(`policy/${name}/content`);
  const begin = (base: Version): void => {
    if (version !== undefined) return;
    setVersion(base.etag);
    setContent(base.content);
  };
  return {
    text,
    description,
    version,
    content,
    setText: (value, base) => {
      setText(value);
      begin(base);
    },
    setDescription: (value, base) => {
      setDescription(value);
      begin(base);
    },
    saved: (sent, saved) => {
      if (typedText() === sent.text) setText(undefined);
      if (typedDescription() === sent.description) setDescription(undefined);
      const typed = typedText() !== undefined || typedDescription() !== undefined;
      setVersion(typed ? saved.etag : undefined);
      setContent(typed ? saved.content : undefined);
    },
    discard: () => {
      setText(undefined);
      setDescription(undefined);
      setVersion(undefined);
      setContent(undefined);
    },
  };
}
