import type { ComponentChildren, JSX } from 'preact';
import { NewDialog } from '../../components/new-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { rbac } from '../../lib/api.ts';
import { useChange } from '../../lib/use-change.ts';
import { useDraftOr } from '../../lib/use-draft.ts';

const EMPTY = { name: '', description: '' };

interface NewNamedProps {
  title: string;
  path: string;
  onDone: (name: string | undefined) => void;
  wide?: boolean;
  /** Fields of the request in addition to name and description. */
  body?: object;
  /** Whether there is input in further fields. */
  hasInput?: boolean;
  /** Further fields; gets the error of the last request. */
  children?: (error: string | undefined, clearError: () => void) => ComponentChildren;
}

/** The dialog to create a role or a policy. Its input stays until it is closed, also after a reload. */
export function NewNamed(props: NewNamedProps): JSX.Element {
  const [input, setInput, discard] = useDraftOr(`new${props.path}`, EMPTY);
  const { name, description } = input;
  const done = (created: string | undefined): void => {
    discard();
    props.onDone(created);
  };
  const { error, send, clearError } = useChange();
  return (
    <NewDialog
      title={props.title}
      wide={props.wide === true}
      hasInput={input !== EMPTY || props.hasInput === true}
      onClose={() => done(undefined)}
      complete={name !== ''}
      onCreate={async () => {
        if (await send(rbac(props.path), 'POST', { name, description, ...props.body })) done(name);
      }}
      error={error}
    >
      <TextField
        label="Name"
        hint="Lower-case letters, digits, - and . (cannot be changed later)"
        required
        value={name}
        onChange={(typed) => setInput({ ...input, name: typed })}
      />
      <TextField
        label="Description"
        value={description}
        onChange={(typed) => setInput({ ...input, description: typed })}
      />
      {props.children?.(error, clearError)}
    </NewDialog>
  );
}
