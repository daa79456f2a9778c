import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { visible } from '../lib/visible.ts';
import { BusyButton, Form, Prose } from './basics.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';

interface DangerButtonProps {
  label: string;
  /** The affected object, for screen readers. */
  about?: string;
  /** What happens, in a sentence with names in backticks. */
  consequence: string;
  /** The name to type for what cannot be undone. */
  typed?: string;
  onConfirm: () => Promise<void>;
  small?: boolean;
  disabled?: boolean;
}

/** The second click of a double click must not confirm. Milliseconds after the dialog has opened. */
const ARMED_MS = 400;

function ConfirmButtons(props: {
  label: string;
  disabled: boolean;
  onConfirm: () => Promise<void>;
  onClose: () => void;
}): JSX.Element {
  const confirm = async (): Promise<void> => {
    await props.onConfirm();
    props.onClose();
  };
  return (
    <div class="row">
      <BusyButton class="danger" type="submit" onPress={confirm} disabled={props.disabled}>
        {props.label}
      </BusyButton>
      <button type="button" onClick={props.onClose}>
        Cancel
      </button>
    </div>
  );
}

function ConfirmDialog(props: DangerButtonProps & { onClose: () => void }): JSX.Element {
  const { label, typed, onClose } = props;
  const [input, setInput] = useState('');
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMED_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <Dialog title={`${label}?`} onClose={onClose}>
      <Form>
        <p>
          <Prose text={props.consequence} />
        </p>
        {typed !== undefined && (
          <TextField
            label={`Type ${typed} to confirm`}
            hint="This cannot be undone"
            value={input}
            onChange={setInput}
          />
        )}
        <ConfirmButtons
          label={label}
          disabled={!armed || (typed !== undefined && input !== typed)}
          onConfirm={props.onConfirm}
          onClose={onClose}
        />
      </Form>
    </Dialog>
  );
}

/** A button for work that takes something away: a dialog names the consequence and asks for confirmation. */
export function DangerButton(props: DangerButtonProps): JSX.Element {
  const { label, about } = props;
  const [asked, setAsked] = useState(false);
  return (
    <>
      <button
        type="button"
        class={`danger${props.small ? ' small' : ''}`}
        disabled={props.disabled === true}
        aria-label={about === undefined ? undefined : `${label} (${visible(about)})`}
        onClick={() => setAsked(true)}
      >
        {label}
      </button>
      {asked && <ConfirmDialog {...props} onClose={() => setAsked(false)} />}
    </>
  );
}
