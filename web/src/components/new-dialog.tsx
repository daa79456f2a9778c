import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, Form } from './basics.tsx';
import { ErrorNote } from './loaded.tsx';
import { Dialog } from './dialog.tsx';

interface NewDialogProps {
  title: string;
  wide?: boolean;
  onClose: () => void;
  /** Label of the button; `Create` by default. */
  action?: string;
  complete: boolean;
  /** Whether there is input from before, or that no field shows. */
  hasInput?: boolean;
  onCreate: () => Promise<unknown>;
  error: string | undefined;
  children: ComponentChildren;
}

/** A dialog with a form that creates a resource. Closing it with input requires a confirmation. */
export function NewDialog(props: NewDialogProps): JSX.Element {
  const [typed, setTyped] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const close = (): void => {
    if ((typed || props.hasInput === true) && !confirming) setConfirming(true);
    else props.onClose();
  };
  const onInput = (): void => {
    setTyped(true);
    setConfirming(false);
  };
  const create = async (): Promise<void> => {
    await props.onCreate();
  };
  return (
    <Dialog title={props.title} onClose={close} wide={props.wide === true}>
      <Form onInput={onInput}>
        {props.children}
        {confirming && (
          <p class="note note-warn" role="alert">
            Close again to discard your input.
          </p>
        )}
        <ErrorNote message={props.error} />
        <BusyButton class="primary" type="submit" onPress={create} disabled={!props.complete}>
          {props.action ?? 'Create'}
        </BusyButton>
      </Form>
    </Dialog>
  );
}
