import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, Dialog, ErrorNote, Form } from '../../components/basics.tsx';
import { TextField } from '../../components/fields.tsx';
import { rbac } from '../../lib/api.ts';
import { useChange } from '../../lib/use-change.ts';

/** A form in a dialog that makes something. What was typed is only discarded when that is asked for twice. */
export function NewDialog(props: {
  title: string;
  wide?: boolean;
  onClose: () => void;
  complete: boolean;
  onCreate: () => Promise<unknown>;
  error: string | undefined;
  children: ComponentChildren;
}): JSX.Element {
  const [typed, setTyped] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const create = async (): Promise<void> => {
    await props.onCreate();
  };
  return (
    <Dialog
      title={props.title}
      onClose={() => {
        if (typed && !leaving) setLeaving(true);
        else props.onClose();
      }}
      wide={props.wide === true}
    >
      <Form
        onInput={() => {
          setTyped(true);
          setLeaving(false);
        }}
      >
        {props.children}
        {leaving && (
          <p class="note note-warn" role="alert">
            Close it once more to discard what you typed.
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

/** Makes a role or a policy: a name for good, a description, and what else it takes. */
export function NewNamed(props: {
  title: string;
  path: string;
  onDone: (name: string | undefined) => void;
  wide?: boolean;
  /** What is sent beside name and description. */
  body?: object;
  /** Shown below; it is told what the gateway refused. */
  children?: (refusal: string | undefined, forget: () => void) => ComponentChildren;
}): JSX.Element {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const { error, send, forget } = useChange();
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
        hint="Lower-case letters, digits, - and . ; it cannot be changed later"
        required
        value={name}
        onChange={setName}
      />
      <TextField label="Description" value={description} onChange={setDescription} />
      {props.children?.(error, forget)}
    </NewDialog>
  );
}
