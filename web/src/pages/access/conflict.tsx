import type { ComponentChildren, JSX } from 'preact';
import { BusyButton, When } from '../../components/basics.tsx';
import { nameOf } from '../../lib/format.ts';

/** Shown when a resource was changed since the unsaved input was begun: both versions, and the choice between them. */
export function Conflict(props: {
  what: string;
  lastUpdatedBy: string;
  lastUpdatedAt: string;
  /** Saves the input over the other change. */
  onKeepMine: () => Promise<void>;
  onTakeTheirs: () => void;
  /** The difference of both. */
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="note note-warn conflict" role="alert" aria-label="Conflict">
      <p>
        {nameOf(props.lastUpdatedBy)} changed this {props.what} <When time={props.lastUpdatedAt} />, after you began to
        edit it.
      </p>
      {props.children}
      <div class="row">
        <BusyButton onPress={props.onKeepMine}>Save mine instead</BusyButton>
        <button type="button" onClick={props.onTakeTheirs}>
          Discard mine
        </button>
      </div>
    </section>
  );
}
