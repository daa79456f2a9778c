import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, ErrorNote, Form } from '../../components/basics.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { rbac } from '../../lib/api.ts';
import { useChange } from '../../lib/use-change.ts';

/** A dialog with a form that creates a resource. Closing it with input requires a confirmation. */
export function NewDialog(props: {
  title: string;
  wide?: boolean;
  onClose: () => void;
  complete: boolean;
  onCreate: () => Promise<unknown>;
  error: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const [hasInput, setHasInput] = useState(false);
  const [confirming, setConfirming] = useState(false);
  const create = async (): Promise<void> => {
    await props.onCreate();
  };
  return (
    <Dialog
      title={props.title}
      onClose={() => {
        if (hasInput && !confirming) setConfirming(true);
        else props.onClose();
      }}
      wide={props.wide === true}
    >
      <Form
        onInput={() => {
          setHasInput(true);
          setConfirming(false);
        }}
      >
        {props.children}
        {confirming && (
          <p class="note note-warn" role="alert">
            Close again to discard your input.
          </p>
        )}
        <ErrorNote message={props.error} />
        <BusyButton class="primary" type="submit" onPress={create} disabled={!props.complete}>
          Create
        </BusyButton>
      </Form>
    </Dialog>
  );
}

/** The dialog to create a role or a policy. */
export function NewNamed(props: {
  title: string;
  path: string;
  onDone: (name: string | undefined) => void;
  wide?: boolean;
  /** Fields of the request in addition to name and description. */
  body?: object;
  /** Further fields; gets the error of the last request. */
  children?: (error: string | undefined, clearError: () => void) => ComponentChildren;
}): JSX.Element {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const { error, send, clearError } = useChange();
  return (
    <NewDialog
      title={props.title}
      wide={props.wide === true}
      onClose={() => props.onDone(undefined)}
      complete={name !== ''}
      onCreate={async () => {
        if (await send(rbac(props.path), 'POST', { name, description, ...props.body })) props.onDone(name);
      }}
      error={error}
    >
      <TextField
        label="Name"
        hint="Lower-case letters, digits, - and . (cannot be changed later)"
        required
        value={name}
        onChange={setName}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      {props.children?.(error, clearError)}
    </NewDialog>
  );
}
