import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { EditorHandle, EditorOptions } from './code-mirror.ts';

/**
 * An editor for SQL or JSON with completion and error markers. Its code is loaded on first use; until then, and when it cannot be loaded, a
 * plain text area is shown.
 */
export function CodeEditor(props: {
  value: string;
  onChange: (value: string) => void;
  label: string;
  language: EditorOptions['language'];
  completions?: EditorOptions['completions'];
  lint?: EditorOptions['lint'];
  /** A change runs the linter again. */
  problem?: string | undefined;
  tables?: EditorOptions['tables'];
  onRun?: () => void;
}): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plainField = useRef<HTMLTextAreaElement>(null);
  const handle = useRef<EditorHandle | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [plain, setPlain] = useState(true);

  useEffect(() => {
    let gone = false;
    void import('./code-mirror.ts').then(
      ({ mountEditor }) => {
        if (gone || !host.current) return;
        handle.current = mountEditor(host.current, {
          value: latest.current.value,
          label: latest.current.label,
          language: latest.current.language,
          onChange: (value) => latest.current.onChange(value),
          onRun: () => latest.current.onRun?.(),
          completions: latest.current.completions,
          lint: (text) => latest.current.lint?.(text) ?? [],
          tables: latest.current.tables,
        });
        // Move the focus and the cursor from the text area to the editor.
        const field = plainField.current;
        if (field && field === document.activeElement) handle.current.focus(field.selectionStart);
        setPlain(false);
      },
      () => undefined,
    );
    return () => {
      gone = true;
      handle.current?.destroy();
    };
  }, []);
  useEffect(() => handle.current?.setValue(props.value), [props.value]);
  useEffect(() => handle.current?.setTables(props.tables ?? {}), [props.tables]);

  useEffect(() => handle.current?.lint(), [props.problem]);

  return (
    <div class="editor">
      {plain && (
        <textarea
          ref={plainField}
          aria-label={props.label}
          value={props.value}
          rows={8}
          spellcheck={false}
          onInput={(event) => props.onChange(event.currentTarget.value)}
        />
      )}
      <div ref={host} />
    </div>
  );
}
