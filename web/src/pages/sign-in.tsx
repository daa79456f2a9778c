import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BusyButton, Dialog, ErrorNote, Field } from '../components/basics.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { comeBackFromProvider, leaveForProvider, type SignInMethods } from '../lib/oidc.ts';
import { navigate, useLocation } from '../lib/router.ts';
import { signIn } from '../lib/session.ts';
import { useData } from '../lib/use-data.ts';

function Form(props: { onDone: () => Promise<void> }): JSX.Element {
  const [token, setToken] = useState('');
  const [error, setError] = useState<string>();
  const methods = useData('methods', (signal) =>
    call<SignInMethods>('/ui/session/methods', { signal, quiet401: true }),
  );
  const oidc = methods.value?.oidc;
  const { path, query } = useLocation();
  useEffect(() => {
    if (path !== '/signed-in') return;
    comeBackFromProvider(query).then(
      (back) => {
        navigate(back, true);
        return props.onDone();
      },
      (failure: unknown) => setError(messageOfError(failure)),
    );
  }, [path]);
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
      <div class="row">
        <BusyButton class="primary" type="submit" onPress={submit} disabled={token.trim() === ''}>
          Sign in
        </BusyButton>
        {oidc && <BusyButton onPress={() => leaveForProvider(oidc)}>Sign in with your identity provider</BusyButton>}
      </div>
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
