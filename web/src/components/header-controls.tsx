import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { setPreferences, usePreferences } from '../lib/preferences.ts';
import { Dialog } from './dialog.tsx';

/** Switches between light and dark colours. The browser keeps the choice. */
export function ThemeSwitch(): JSX.Element {
  const { theme } = usePreferences();
  const isDark = theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  return (
    <button
      type="button"
      class="icon"
      aria-label={isDark ? 'Use light colours' : 'Use dark colours'}
      onClick={() => setPreferences({ theme: isDark ? 'light' : 'dark' })}
    >
      {isDark ? '☀' : '☾'}
    </button>
  );
}

/** Switches between times in the browser's time zone and in UTC. The browser keeps the choice. */
export function ZoneSwitch(): JSX.Element {
  const { utc } = usePreferences();
  return (
    <button
      type="button"
      class="small"
      aria-pressed={utc}
      title="Times in UTC"
      onClick={() => setPreferences({ utc: !utc })}
    >
      UTC
    </button>
  );
}

const SHORTCUTS: readonly [keys: string, effect: string][] = [
  ['?', 'Show this list'],
  ['/', 'Go to the search or the first filter of the page'],
  ['Ctrl+Enter', 'Run the query'],
  ['Ctrl+Space', 'Complete in an editor'],
  ['Tab', 'Leave an editor'],
  ['Arrows, Enter', 'In a result: go to a cell, and open it in full'],
  ['[ and ]', 'In a result: make the column of the cell narrower or wider'],
  ['Escape', 'Close a dialog; cancel a confirmation'],
];

/** True while the key is part of a text that is typed. */
function isTyping(event: KeyboardEvent): boolean {
  // In a shadow root, such as that of an editor, `target` would be its host.
  const target = event.composedPath()[0];
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

/** Handles the keys that work on each page, and lists all shortcuts. */
export function Shortcuts(): JSX.Element {
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      if (document.querySelector('dialog[open]')) return;
      if (event.key === '?') setShown(true);
      else if (event.key === '/') document.querySelector<HTMLInputElement>('main input[type=search]')?.focus();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <button type="button" class="icon" aria-label="Keyboard shortcuts" onClick={() => setShown(true)}>
        ?
      </button>
      {shown && (
        <Dialog title="Keyboard shortcuts" onClose={() => setShown(false)}>
          <dl class="facts">
            {SHORTCUTS.map(([keys, effect]) => (
              <div key={keys}>
                <dt>
                  <kbd>{keys}</kbd>
                </dt>
                <dd>{effect}</dd>
              </div>
            ))}
          </dl>
        </Dialog>
      )}
    </>
  );
}
