import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { NewDialog } from '../../components/new-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { rbac } from '../../lib/api.ts';
import { useChange } from '../../lib/use-change.ts';

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
