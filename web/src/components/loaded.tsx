import type { ComponentChildren, JSX } from 'preact';
import type { Data } from '../lib/use-data.ts';
import { visibleText } from '../lib/visible.ts';
import { Loading } from './basics.tsx';
import { RefusalHelp } from './refusal.tsx';

/** An error, and what to do about it; nothing without one. */
export function ErrorNote(props: { message: string | undefined; retry?: () => void }): JSX.Element | null {
  if (props.message === undefined) return null;
  return (
    <div class="note note-error" role="alert">
      <span>{visibleText(props.message)}</span>
      <RefusalHelp message={props.message} />
      {props.retry && (
        <button type="button" class="small" onClick={props.retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Renders loaded data, or the loading state, or the error. */
export function Loaded<T>(props: {
  data: Data<T>;
  what: string;
  children: (value: T) => ComponentChildren;
}): JSX.Element {
  const { value, error, reload } = props.data;
  if (value !== undefined) return <>{props.children(value)}</>;
  return error === undefined ? <Loading what={props.what} /> : <ErrorNote message={error} retry={reload} />;
}
