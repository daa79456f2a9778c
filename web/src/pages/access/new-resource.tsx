import type { ComponentChildren, JSX } from 'preact';
import { NewDialog } from '../../components/new-dialog.tsx';
import { TextField } from '../../components/fields.tsx';
import { rbac } from '../../lib/api.ts';
import { useSession } from '../../lib/session.ts';
import { useChange } from '../../lib/use-change.ts';
import { useDraftOr } from '../../lib/use-draft.ts';

const EMPTY = { name: '', description: '' };

interface NewNamedProps {
  title: string;
  path: string;
  /** The action that creates it. */
  action: 'CreateRole' | 'CreatePolicy';
  onDone: (name: string | undefined) => void;
  wide?: boolean;
  /** Fields of the request in addition to name and description. */
  body?: object;
  /** Whether there is input in further fields. */
  hasInput?: boolean;
  /** Further fields; gets the error of the last request. */
  children?: (error: string | undefined, clearError: () => void) => ComponentChildren;
}

/** What a name may be, and how it begins. @param patterns of the names that the caller may create */
function namesOf(patterns: readonly string[]): { readonly initial: string; readonly hint: string } {
  const hint = 'Lower-case letters, digits, - and . (cannot be changed later)';
  if (patterns.length === 0 || patterns.includes('*')) return { initial: '', hint };
  return { initial: patterns[0]?.split('*', 1)[0] ?? '', hint: `You may create ${patterns.join(', ')}. ${hint}` };
}

/** The dialog to create a role or a policy. Its input stays until it is closed, also after a reload. */
export function NewNamed(props: NewNamedProps): JSX.Element {
  const { access } = useSession();
  const { initial, hint } = namesOf(access[props.action] ?? []);
  const [input, setInput, discard] = useDraftOr(`new${props.path}`, { ...EMPTY, name: initial });
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
      hasInput={name !== initial || description !== '' || props.hasInput === true}
      onClose={() => done(undefined)}
      complete={name !== initial}
      onCreate={async () => {
        if (await send(rbac(props.path), 'POST', { name, description, ...props.body })) done(name);
      }}
      error={error}
    >
      <TextField
        label="Name"
        hint={hint}
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
