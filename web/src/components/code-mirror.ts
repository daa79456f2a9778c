import {
  autocompletion,
  completionKeymap,
  type CompletionContext,
  type CompletionResult,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { sql, StandardSQL } from '@codemirror/lang-sql';
import {
  bracketMatching,
  defaultHighlightStyle,
  ensureSyntaxTree,
  HighlightStyle,
  syntaxHighlighting,
} from '@codemirror/language';
import { linter, lintGutter, setDiagnostics, type Diagnostic } from '@codemirror/lint';
import { Compartment, EditorState, type Extension } from '@codemirror/state';
import { EditorView, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';

export interface EditorOptions {
  readonly value: string;
  readonly label: string;
  readonly language: 'sql' | 'json';
  readonly onChange: (value: string) => void;
  /** @param selected the selected text; empty for none */
  readonly onRun: (selected: string) => void;
  readonly onSelect: (selected: string) => void;
  readonly completions: ((context: CompletionContext) => CompletionResult | null) | undefined;
  /** Semantic errors; called only for text with valid syntax. */
  readonly lint: (text: string) => Diagnostic[];
  /** The tables that are completed in SQL. */
  readonly tables: SqlTables | undefined;
}

export interface SqlTables {
  /** Table name → its columns. */
  readonly columns: Record<string, string[]>;
  /** The table whose columns are completed without its name; undefined for none. */
  readonly first: string | undefined;
}

export interface EditorHandle {
  setValue(value: string): void;
  setTables(tables: SqlTables): void;
  /** Replaces the selection, and focuses the editor. */
  insert(text: string): void;
  /** Focuses the editor and selects a range, or places the cursor. @param from, to offsets in the text */
  focus(from: number, to: number): void;
  /** Runs the linter. */
  lint(): void;
  destroy(): void;
}

const colours = HighlightStyle.define([
  { tag: tags.keyword, color: 'var(--code-keyword)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--code-string)' },
  { tag: [tags.number, tags.bool, tags.null], color: 'var(--code-number)' },
  { tag: tags.comment, color: 'var(--muted)' },
  { tag: tags.propertyName, color: 'var(--code-name)' },
]);

const theme = EditorView.theme({
  '&': {
    fontSize: '13px',
    backgroundColor: 'var(--field)',
    color: 'var(--text)',
    // What is below the editor stays in view. The lower right corner is a handle.
    maxHeight: '55vh',
    minHeight: '9em',
    resize: 'vertical',
    overflow: 'hidden',
  },
  '.cm-scroller': { overflow: 'auto' },
  '.cm-content': { fontFamily: 'var(--mono)', minHeight: '9em', caretColor: 'var(--text)' },
  '.cm-gutters': { backgroundColor: 'var(--field)', color: 'var(--muted)', border: 'none' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--text)', border: '1px solid var(--line)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground, ::selection': {
    backgroundColor: 'var(--selection) !important',
  },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
});

function languageOf({ language }: EditorOptions, tables: SqlTables | undefined): Extension {
  if (language === 'json') return json();
  return sql({
    dialect: StandardSQL,
    schema: tables?.columns ?? {},
    upperCaseKeywords: true,
    ...(tables?.first !== undefined && { defaultTable: tables.first }),
  });
}

/**
 * Replaces a selection by typed text. By default Chromium adds a style attribute to keep the colour of the replaced text, which violates the
 * Content-Security-Policy.
 */
function replaceSelection(event: InputEvent, view: EditorView): boolean {
  const { state } = view;
  if (event.inputType !== 'insertText' || event.data === null || state.selection.main.empty) return false;
  event.preventDefault();
  view.dispatch(state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
  return true;
}

const selectedIn = ({ selection: { main }, doc }: EditorState): string => doc.sliceString(main.from, main.to);

/** The first JSON syntax error: the message of JSON.parse at the position from the syntax tree. */
function jsonErrors(state: EditorState): Diagnostic[] {
  const text = state.doc.toString();
  try {
    JSON.parse(text);
    return [];
  } catch (error) {
    let at = text.length;
    ensureSyntaxTree(state, text.length, 200)?.iterate({
      enter: (node) => {
        if (node.type.isError) at = Math.min(at, node.from);
      },
    });
    const line = state.doc.lineAt(at);
    const message = error instanceof Error ? error.message : String(error);
    return [
      {
        from: Math.min(at, Math.max(line.from, line.to - 1)),
        to: Math.min(line.to, at + 1),
        severity: 'error',
        message,
      },
    ];
  }
}

/** Marks syntax errors or, where there are none, the errors that the owner finds. */
const lintJson =
  ({ lint }: EditorOptions) =>
  ({ state }: EditorView): Diagnostic[] => {
    const syntax = jsonErrors(state);
    return syntax.length > 0 ? syntax : lint(state.doc.toString());
  };

function extensionsOf(options: EditorOptions, language: Extension, onInput: (text: string) => void): Extension[] {
  return [
    lineNumbers(),
    history(),
    bracketMatching(),
    language,
    syntaxHighlighting(colours),
    syntaxHighlighting(defaultHighlightStyle, { fallback: true }),
    theme,
    EditorView.lineWrapping,
    EditorView.contentAttributes.of({ 'aria-label': options.label }),
    EditorView.updateListener.of((update) => {
      if (update.docChanged) onInput(update.state.doc.toString());
      if (update.selectionSet || update.docChanged) options.onSelect(selectedIn(update.state));
    }),
    EditorView.domEventHandlers({ beforeinput: replaceSelection }),
    // Tab is not bound, so that keyboard users can leave the editor.
    keymap.of([
      { key: 'Mod-Enter', run: (view) => (options.onRun(selectedIn(view.state)), true) },
      ...completionKeymap,
      ...historyKeymap,
      ...defaultKeymap,
    ]),
    autocompletion(options.completions ? { override: [options.completions] } : {}),
    // SQL is not linted: only Pinot implements its dialect completely.
    ...(options.language === 'json' ? [lintGutter(), linter(lintJson(options), { delay: 300 })] : []),
  ];
}

/**
 * Mounts an editor in a shadow root of `host`. There its styles are adoptedStyleSheets, which a strict Content-Security-Policy allows, unlike
 * style elements.
 */
export function mountEditor(host: HTMLElement, options: EditorOptions): EditorHandle {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' });
  const parent = document.createElement('div');
  root.replaceChildren(parent);
  const language = new Compartment();
  // True while setValue() changes the text, which is not input by the user.
  let settingValue = false;
  const extensions = extensionsOf(options, language.of(languageOf(options, options.tables)), (text) => {
    if (!settingValue) options.onChange(text);
  });
  const view = new EditorView({ state: EditorState.create({ doc: options.value, extensions }), parent, root });
  return {
    setValue(value) {
      const old = view.state.doc.toString();
      if (old === value) return;
      settingValue = true;
      view.dispatch({ changes: { from: 0, to: old.length, insert: value } });
      settingValue = false;
    },
    setTables(tables) {
      view.dispatch({ effects: language.reconfigure(languageOf(options, tables)) });
    },
    insert(text) {
      view.dispatch(view.state.replaceSelection(text), { userEvent: 'input', scrollIntoView: true });
      view.focus();
    },
    focus(from, to) {
      const { length } = view.state.doc;
      view.dispatch({ selection: { anchor: Math.min(from, length), head: Math.min(to, length) } });
      view.focus();
    },
    lint() {
      if (options.language === 'json') view.dispatch(setDiagnostics(view.state, lintJson(options)(view)));
    },
    destroy: () => view.destroy(),
  };
}
