import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, Dialog, ErrorNote, Field } from '../components/basics.tsx';
import { messageOfError } from '../lib/api.ts';
import { signIn } from '../lib/session.ts';

function Form(props: { onDone: () => Promise<void> }): JSX.Element {
  const [token, setToken] = useState('');
  const [error, setError] = useState<string>();
  const submit = async (): Promise<void> => {
    try {
      await signIn(token.trim());
      setToken('');
      await props.onDone();
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      <Field
        label="Token"
        hint="A service token (svc-…), a Kubernetes token, an OIDC token, or the administrator's token of a standalone start."
      >
        {(id, hintId) => (
          <input
            id={id}
            aria-describedby={hintId}
            type="password"
            autocomplete="off"
            required
            autoFocus
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        )}
      </Field>
      <ErrorNote message={error} />
      <BusyButton class="primary" type="submit" onPress={submit} disabled={token.trim() === ''}>
        Sign in
      </BusyButton>
    </form>
  );
}

/** @param props.again true where a session that was open has ended: the page behind stays as it is */
export function SignIn(props: { onDone: () => Promise<void>; again?: boolean }): JSX.Element {
  if (props.again) {
    return (
      <Dialog title="Your session has ended" onClose={() => undefined}>
        <p>Sign in again. Nothing you typed is lost.</p>
        <Form onDone={props.onDone} />
      </Dialog>
    );
  }
  return (
    <section class="card sign-in">
      <h1>
        <img src="/ui/assets/icon.svg" alt="" width={32} height={32} /> olap-warden
      </h1>
      <p class="muted">Access, health and paginated queries of your Apache Pinot cluster.</p>
      <Form onDone={props.onDone} />
    </section>
  );
}
