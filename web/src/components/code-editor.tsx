import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { EditorHandle, EditorOptions, mountEditor } from './code-mirror.ts';

interface CodeEditorProps extends Pick<EditorOptions, 'language' | 'label' | 'onChange'> {
  value: string;
  /** Identifies a text that the owner sets. The same revision never replaces the text. */
  revision?: string | number | undefined;
  completions?: EditorOptions['completions'];
  lint?: EditorOptions['lint'];
  /** A change runs the linter again. */
  problem?: string | undefined;
  tables?: EditorOptions['tables'];
  /** @param selected the selected text; empty for none */
  onRun?: (selected: string) => void;
  onSelect?: (selected: string) => void;
  /** Gets a function that replaces the selection by a text; undefined while the editor is loading. */
  inserter?: { current: ((text: string) => void) | undefined };
}

/** The options of the editor, which read the latest properties of its component. @param value the text at first */
function optionsOf(latest: { readonly current: CodeEditorProps }, value: string): EditorOptions {
  const { label, language, completions, tables } = latest.current;
  return {
    value,
    label,
    language,
    onChange: (text) => latest.current.onChange(text),
    onRun: (selected) => latest.current.onRun?.(selected),
    onSelect: (selected) => latest.current.onSelect?.(selected),
    completions: completions && ((context) => latest.current.completions?.(context) ?? null),
    lint: (text) => latest.current.lint?.(text) ?? [],
    tables,
  };
}

interface MountedEditor {
  readonly host: RefObject<HTMLDivElement | null>;
  readonly plainField: RefObject<HTMLTextAreaElement | null>;
  readonly handle: { readonly current: EditorHandle | undefined };
  /** True until the editor has replaced the plain text area. */
  readonly plain: boolean;
}

/** Loads the code of the editor and mounts it. */
function useMountedEditor(props: CodeEditorProps): MountedEditor {
  const host = useRef<HTMLDivElement>(null);
  const plainField = useRef<HTMLTextAreaElement>(null);
  const handle = useRef<EditorHandle | undefined>(undefined);
  const latest = useRef(props);
  latest.current = props;
  const [plain, setPlain] = useState(true);
  useEffect(() => {
    let gone = false;
    const mount = (create: typeof mountEditor): void => {
      const field = plainField.current;
      if (gone || !host.current || !field) return;
      // The text area has what was typed while the editor was loading.
      handle.current = create(host.current, optionsOf(latest, field.value));
      // Move the focus and the selection from the text area to the editor.
      if (latest.current.inserter) latest.current.inserter.current = (text) => handle.current?.insert(text);
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
  return { host, plainField, handle, plain };
}

/**
 * An editor for SQL or JSON with completion and error markers. Its code is loaded on first use; until then, and when it cannot be loaded, a
 * plain text area is shown.
 *
 * The editor owns its text. `value` is read when the editor is mounted and when `revision` changes, and at no other time: a value that comes back
 * from the owner after a key press can be older than the text, and would remove the characters typed since.
 */
export function CodeEditor(props: CodeEditorProps): JSX.Element {
  const { host, plainField, handle, plain } = useMountedEditor(props);
  const shown = useRef(props.revision);
  const [initial] = useState(props.value);
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
