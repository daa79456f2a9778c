import type { JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { EditorHandle, EditorOptions, mountEditor } from './code-mirror.ts';

/**
 * An editor for SQL or JSON with completion and error markers. Its code is loaded on first use; until then, and when it cannot be loaded, a
 * plain text area is shown.
 *
 * The editor owns its text. `value` is read when the editor is mounted and when `revision` changes, and at no other time: a value that comes back
 * from the owner after a key press can be older than the text, and would remove the characters typed since.
 */
export function CodeEditor(props: {
  value: string;
  /** Identifies a text that the owner sets. The same revision never replaces the text. */
  revision?: string | number | undefined;
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
  const shown = useRef(props.revision);
  const [initial] = useState(props.value);
  const [plain, setPlain] = useState(true);

  useEffect(() => {
    let gone = false;
    const mount = (create: typeof mountEditor): void => {
      const field = plainField.current;
      if (gone || !host.current || !field) return;
      handle.current = create(host.current, {
        // The text area has what was typed while the editor was loading.
        value: field.value,
        label: latest.current.label,
        language: latest.current.language,
        onChange: (value) => latest.current.onChange(value),
        onRun: () => latest.current.onRun?.(),
        completions: latest.current.completions && ((context) => latest.current.completions?.(context) ?? null),
        lint: (text) => latest.current.lint?.(text) ?? [],
        tables: latest.current.tables,
      });
      // Move the focus and the selection from the text area to the editor.
      if (field === document.activeElement) handle.current.focus(field.selectionStart, field.selectionEnd);
      setPlain(false);
    };
    void import('./code-mirror.ts').then(
      (loaded) => mount(loaded.mountEditor),
      () => undefined,
    );
    return () => {
      gone = true;
      handle.current?.destroy();
    };
  }, []);
  // A layout effect, because it runs before the next key press, which an effect after the paint could overwrite.
  useLayoutEffect(() => {
    if (shown.current === props.revision) return;
    shown.current = props.revision;
    if (handle.current) handle.current.setValue(props.value);
    else if (plainField.current) plainField.current.value = props.value;
  }, [props.revision]);
  useEffect(() => {
    if (props.tables) handle.current?.setTables(props.tables);
  }, [props.tables]);

  useEffect(() => handle.current?.lint(), [props.problem]);

  return (
    <div class="editor">
      {plain && (
        <textarea
          ref={plainField}
          aria-label={props.label}
          defaultValue={initial}
          rows={8}
          spellcheck={false}
          onInput={(event) => props.onChange(event.currentTarget.value)}
        />
      )}
      <div ref={host} />
    </div>
  );
}
