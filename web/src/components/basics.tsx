import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { absolute, relative } from '../lib/format.ts';
import { usePreferences } from '../lib/preferences.ts';
import { href, navigate } from '../lib/router.ts';
import { visible, visibleText } from '../lib/visible.ts';

export function Link(props: {
  to: string;
  class?: string;
  title?: string;
  current?: boolean;
  /** Called before the link is followed in this window. */
  onFollow?: () => void;
  children: ComponentChildren;
}): JSX.Element {
  return (
    <a
      href={href(props.to)}
      class={props.class}
      title={props.title}
      aria-current={props.current ? 'page' : undefined}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        props.onFollow?.();
        navigate(props.to);
      }}
    >
      {props.children}
    </a>
  );
}

/**
 * A relative time. The exact time is shown for the pointer and for the focus: of the time itself or, in a row of a list, of anything in the row, so
 * that the times of a long list need no press of Tab each.
 */
export function When(props: { time: number | string | null | undefined; inRow?: boolean }): JSX.Element {
  const { utc } = usePreferences();
  if (props.time === undefined || props.time === null) return <span>never</span>;
  return (
    <time
      class="when"
      dateTime={new Date(props.time).toISOString()}
      data-exact={absolute(props.time, utc)}
      tabIndex={props.inRow === true ? undefined : 0}
    >
      {relative(props.time)}
    </time>
  );
}

/** An exact time, with its zone. */
export function Moment(props: { time: number | string }): JSX.Element {
  const { utc } = usePreferences();
  return <time dateTime={new Date(props.time).toISOString()}>{absolute(props.time, utc)}</time>;
}

/** When an assignment ends, relative and absolute; nothing for one without an end. */
export function Until(props: { time: string | null | undefined }): JSX.Element | null {
  const { time } = props;
  if (time === undefined || time === null) return null;
  const ended = new Date(time).getTime() <= Date.now();
  return (
    <span class={ended ? 'muted' : undefined}>
      {ended ? 'expired' : 'until'} <Moment time={time} /> <span class="together">({relative(time)})</span>
    </span>
  );
}

/** The day of the last use; nothing if the gateway does not record it. */
export function LastUsed(props: { day: string | null | undefined }): JSX.Element | null {
  if (props.day === undefined) return null;
  return <span>{props.day ?? 'not recorded'}</span>;
}

/** The warnings of a response; nothing without any. */
export function Warnings(props: { warnings: readonly string[] | undefined }): JSX.Element | null {
  if (props.warnings === undefined || props.warnings.length === 0) return null;
  return (
    <div role="status">
      <ul class="note note-warn warnings" aria-label="Warnings">
        {props.warnings.map((warning) => (
          <li key={warning}>
            <Prose text={warning} />
          </li>
        ))}
      </ul>
    </div>
  );
}

export function Loading(props: { what: string }): JSX.Element {
  return (
    <p class="loading" role="status">
      Loading {props.what}…
    </p>
  );
}

export function Badge(props: { tone: 'good' | 'bad' | 'warn' | 'plain'; children: ComponentChildren }): JSX.Element {
  return <span class={`badge badge-${props.tone}`}>{props.children}</span>;
}

/** A form that the browser does not submit: its BusyButton does the work. */
export function Form(props: { class?: string; onInput?: () => void; children: ComponentChildren }): JSX.Element {
  return (
    <form class={props.class} onInput={props.onInput} onSubmit={(event) => event.preventDefault()}>
      {props.children}
    </form>
  );
}

/** A name: it breaks after its punctuation rather than within a word, and shows its hidden characters. */
export function Name(props: { text: string }): JSX.Element {
  const parts = visible(props.text).split(/(?<=[_@.:#-])/);
  return <>{parts.flatMap((part, index) => (index === 0 ? [part] : [<wbr key={index} />, part]))}</>;
}

/** A message with code in backticks; it shows its hidden characters. */
export function Prose(props: { text: string }): JSX.Element {
  return (
    <>
      {visibleText(props.text)
        .split('`')
        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
    </>
  );
}

/** A button for asynchronous work: disabled and marked as busy while the work runs. */
export function BusyButton(props: {
  onPress: () => Promise<void>;
  children: ComponentChildren;
  class?: string;
  disabled?: boolean;
  type?: 'button' | 'submit';
}): JSX.Element {
  const [busy, setBusy] = useState(false);
  return (
    <button
      type={props.type ?? 'button'}
      class={props.class}
      disabled={props.disabled === true || busy}
      aria-busy={busy}
      onClick={(event) => {
        event.preventDefault();
        setBusy(true);
        void props.onPress().finally(() => setBusy(false));
      }}
    >
      {props.children}
      {busy && <span class="spinner" aria-hidden="true" />}
    </button>
  );
}

/** Copies a text to the clipboard. @param props.text a function when the text is expensive to create */
export function CopyButton(props: {
  text: string | (() => string | Promise<string>);
  label?: string;
  /** The name for screen readers, which contains the label. */
  name?: string;
}): JSX.Element {
  const [done, setDone] = useState<string>();
  const show = (text: string): void => {
    setDone(text);
    setTimeout(() => setDone(undefined), 2000);
  };
  return (
    <button
      type="button"
      class="small"
      aria-label={done === undefined ? props.name : undefined}
      onClick={() => {
        const text = typeof props.text === 'string' ? props.text : props.text();
        Promise.resolve(text)
          .then((copied) => navigator.clipboard.writeText(copied))
          .then(
            () => show('Copied'),
            // The browser denies it, as over plain HTTP, or the code that makes the text cannot be loaded.
            () => show('Cannot copy'),
          );
      }}
    >
      <span aria-live="polite">{done ?? props.label ?? 'Copy'}</span>
    </button>
  );
}

/** Downloads a text as a file. */
export function download(name: string, type: string, text: string): void {
  downloadBlob(name, new Blob([text], { type }));
}

export function downloadBlob(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const anchor = document.createElement('a');
  anchor.href = url;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
