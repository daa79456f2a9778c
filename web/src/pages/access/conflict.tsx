import type { ComponentChildren, JSX } from 'preact';
import { BusyButton, Name, When } from '../../components/basics.tsx';
import { Difference } from '../../components/difference.tsx';
import { nameOf } from '../../lib/format.ts';

/** Shown when a resource was changed since the unsaved input was begun: both versions, and the choice between them. */
export function Conflict(props: {
  what: string;
  lastUpdatedBy: string;
  lastUpdatedAt: string;
  /** Saves the input over the other change. */
  onKeepMine: () => Promise<void>;
  onTakeTheirs: () => void;
  /** What both changed. */
  children: ComponentChildren;
}): JSX.Element {
  return (
    <section class="note note-warn conflict" role="alert" aria-label="Conflict">
      <p>
        <Name text={nameOf(props.lastUpdatedBy)} /> changed this {props.what} <When time={props.lastUpdatedAt} />, after
        you began to edit it.
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

/** What each of both changed in the version from which the input began, and what would be lost. */
export function BothChanges(props: { base: string; theirs: string; mine: string }): JSX.Element {
  const { base, theirs, mine } = props;
  return (
    <>
      <Difference label="What they changed, and saved" before={base} after={theirs} />
      <Difference label="What you changed" before={base} after={mine} />
      <Difference label="What Save mine instead would change in the saved version" before={theirs} after={mine} />
    </>
  );
}
