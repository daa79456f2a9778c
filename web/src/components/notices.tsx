import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { messageOfError } from '../lib/api.ts';
import { closeNotice, useNotices, type Notice } from '../lib/notices.ts';
import { BusyButton, Prose } from './basics.tsx';

function UndoButton(props: {
  id: number;
  undo: () => Promise<unknown>;
  onError: (message: string) => void;
}): JSX.Element {
  const undo = async (): Promise<void> => {
    try {
      await props.undo();
      closeNotice(props.id);
    } catch (error) {
      props.onError(messageOfError(error));
    }
  };
  return (
    <BusyButton class="small" onPress={undo}>
      Undo
    </BusyButton>
  );
}

function OneNotice(props: { notice: Notice }): JSX.Element {
  const { id, texts, tone, undo } = props.notice;
  const [error, setError] = useState<string>();
  return (
    <li class={`note${tone === 'warn' ? ' note-warn' : ''}`}>
      <div class="notice-texts">
        {[...texts, ...(error === undefined ? [] : [error])].map((text) => (
          <p key={text}>
            <Prose text={text} />
          </p>
        ))}
      </div>
      {undo && <UndoButton id={id} undo={undo} onError={setError} />}
      <button type="button" class="icon" aria-label="Close the notice" onClick={() => closeNotice(id)}>
        ×
      </button>
    </li>
  );
}

/** Warnings of the last changes, and the ways to take changes back. */
export function Notices(): JSX.Element {
  return (
    <div role="status">
      <ul class="notices" aria-label="Notices">
        {useNotices().map((notice) => (
          <OneNotice key={notice.id} notice={notice} />
        ))}
      </ul>
    </div>
  );
}
