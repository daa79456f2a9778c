import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { setPreferences, usePreferences } from '../lib/preferences.ts';
import { navigate } from '../lib/router.ts';
import { Dialog } from './dialog.tsx';
import { Facts } from './facts.tsx';
import type { Jump, Place } from './jump.tsx';

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
  ['Ctrl+K', 'Go to a page, a table, an instance, a role or a policy by its name'],
  ['g h', 'Go to Health; with c, a, w, q or g to Cluster, Access, Who can, Queries or Gateway'],
  ['/', 'Go to the search or the first filter of the page'],
  ['Ctrl+Enter', 'Run the query'],
  ['Ctrl+Space', 'Complete in an editor'],
  ['Tab', 'Leave an editor'],
  ['Arrows, Enter', 'In a result: go to a cell, and open it in full'],
  ['s', 'In a result: sort the rows of this page by the column of the cell'],
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

/** Time in which the second key of a jump counts, milliseconds. */
const SECOND_KEY_MS = 1500;

/** The handlers of the keys that work on each page. @param pages the pages that the caller may open */
function useKeys(pages: readonly Place[], show: (what: Shown) => void): void {
  useEffect(() => {
    let pressedG = -Infinity;
    /** @returns whether the key has a meaning */
    const act = (key: string, isSecond: boolean): boolean => {
      const page = isSecond ? pages.find(({ name }) => name.toLowerCase().startsWith(key)) : undefined;
      if (page) navigate(page.path);
      else if (key === '?') show('shortcuts');
      else if (key === '/') document.querySelector<HTMLInputElement>('main input[type=search]')?.focus();
      else return false;
      return true;
    };
    const onKey = (event: KeyboardEvent): void => {
      if (document.querySelector('dialog[open]')) return;
      const isJump = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k';
      if (isJump) show('jump');
      else if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      else {
        const isSecond = event.timeStamp - pressedG < SECOND_KEY_MS;
        pressedG = event.key === 'g' && !isSecond ? event.timeStamp : -Infinity;
        if (!act(event.key, isSecond)) return;
      }
      event.preventDefault();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, [pages.length]);
}

type Shown = 'shortcuts' | 'jump';

function ShortcutList(props: { onClose: () => void }): JSX.Element {
  return (
    <Dialog title="Keyboard shortcuts" onClose={props.onClose}>
      <Facts facts={SHORTCUTS.map(([keys, effect]) => [keys, effect])} />
    </Dialog>
  );
}

/** Handles the keys that work on each page, and lists all shortcuts. */
export function Shortcuts(props: { pages: readonly Place[] }): JSX.Element {
  const [shown, setShown] = useState<Shown>();
  const [jump, setJump] = useState<{ Jump: typeof Jump }>();
  useKeys(props.pages, (what) => {
    setShown(what);
    // Its code is loaded on first use.
    if (what === 'jump') void import('./jump.tsx').then(setJump, () => setShown(undefined));
  });
  const close = (): void => setShown(undefined);
  return (
    <>
      <button type="button" class="icon" aria-label="Keyboard shortcuts" onClick={() => setShown('shortcuts')}>
        ?
      </button>
      {shown === 'shortcuts' && <ShortcutList onClose={close} />}
      {shown === 'jump' && jump && <jump.Jump pages={props.pages} onClose={close} />}
    </>
  );
}
