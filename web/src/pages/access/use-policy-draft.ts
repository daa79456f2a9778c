import { useDraft } from '../../lib/use-draft.ts';

interface Input {
  readonly text: string | undefined;
  readonly description: string | undefined;
}

export interface PolicyDraft extends Input {
  /** The version on which the unsaved input is based; undefined without input. */
  readonly version: string | undefined;
  /** @param base the shown version */
  readonly setText: (text: string, base: string) => void;
  readonly setDescription: (description: string, base: string) => void;
  /** Discards what was sent. Input since then is unsaved, and based on the saved version. */
  readonly saved: (sent: Input, version: string) => void;
  readonly discard: () => void;
}

/** The unsaved input for a policy. It stays while other pages are shown. */
export function usePolicyDraft(name: string): PolicyDraft {
  const [text, setText, typedText] = useDraft(`policy/${name}/document`);
  const [description, setDescription, typedDescription] = useDraft(`policy/${name}/description`);
  const [version, setVersion] = useDraft(`policy/${name}/version`);
  return {
    text,
    description,
    version,
    setText: (value, base) => {
      setText(value);
      setVersion(version ?? base);
    },
    setDescription: (value, base) => {
      setDescription(value);
      setVersion(version ?? base);
    },
    saved: (sent, saved) => {
      if (typedText() === sent.text) setText(undefined);
      if (typedDescription() === sent.description) setDescription(undefined);
      setVersion(typedText() === undefined && typedDescription() === undefined ? undefined : saved);
    },
    discard: () => {
      setText(undefined);
      setDescription(undefined);
      setVersion(undefined);
    },
  };
}
