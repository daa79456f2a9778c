import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BusyButton, Form } from '../components/basics.tsx';
import { ErrorNote } from '../components/loaded.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { startSignIn } from '../lib/oidc.ts';
import type { SignInMethods } from '../lib/types.ts';
import { href } from '../lib/router.ts';
import { signIn } from '../lib/session.ts';
import { announceSignIn, onSignedInElsewhere, openSignInWindow, SIGN_IN_WINDOW } from '../lib/sign-in-window.ts';
import { useData } from '../lib/use-data.ts';
import { CenteredCard } from './sign-in-window.tsx';

/** Sign-in at the identity provider, in a separate window when this page must not be left. */
function Provider(props: { oidc: NonNullable<SignInMethods['oidc']>; stay: boolean }): JSX.Element {
  const [opened, setOpened] = useState<boolean>();
  return (
    <div class="provider">
      <p class="or muted">or</p>
      <BusyButton
        onPress={async () => {
          if (props.stay) setOpened(openSignInWindow());
          else await startSignIn(props.oidc, false);
        }}
      >
        Sign in with your identity provider
      </BusyButton>
      {opened === true && (
        <p class="hint" role="status">
          Continue in the new window. This page keeps your input.
        </p>
      )}
      {opened === false && (
        <div class="note note-warn" role="alert">
          <span>
            Your browser blocked the window.{' '}
            <a href={href(SIGN_IN_WINDOW)} target="_blank" rel="noreferrer">
              Sign in in a new tab
            </a>
            . This page keeps your input.
          </span>
        </div>
      )}
    </div>
  );
}

/** @param props.onSubmit throws when the token is not accepted */
function TokenForm(props: { error: string | undefined; onSubmit: (token: string) => Promise<void> }): JSX.Element {
  const [token, setToken] = useState('');
  return (
    <Form>
      <TextField
        label="Token"
        hint="A service token (svc-…), a Kubernetes token, an OIDC token, or the administrator token of a standalone installation."
        type="password"
        required
        autoFocus
        value={token}
        onChange={setToken}
      />
      <ErrorNote message={props.error} />
      <BusyButton
        class="primary"
        type="submit"
        onPress={() => props.onSubmit(token.trim())}
        disabled={token.trim() === ''}
      >
        Sign in
      </BusyButton>
    </Form>
  );
}

/** @param props.stay true when the page behind has input, so that it must not be left */
function SignInForm(props: { onDone: () => Promise<void>; stay: boolean }): JSX.Element {
  const [error, setError] = useState<string>();
  const methods = useData('methods', (signal) =>
    call<SignInMethods>('/ui/session/methods', { signal, ignore401: true }),
  );
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      await props.onDone();
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  // All windows share the session cookie.
  useEffect(() => onSignedInElsewhere(() => void attempt(async () => undefined)), []);
  const submit = (token: string): Promise<void> =>
    attempt(async () => {
      await signIn(token);
      announceSignIn();
    });
  const oidc = methods.value?.oidc;
  return (
    <>
      <TokenForm error={error} onSubmit={submit} />
      {oidc && <Provider oidc={oidc} stay={props.stay} />}
    </>
  );
}

/**
 * @param props.onDone opens the dashboard; throws when there is no session
 * @param props.again true after a session has expired: the page behind stays mounted
 */
export function SignIn(props: { onDone: () => Promise<void>; again?: boolean }): JSX.Element {
  if (props.again) {
    return (
      <Dialog title="Your session has ended">
        <p>Your token has expired or was revoked. Sign in again: your input is kept.</p>
        <SignInForm onDone={props.onDone} stay />
      </Dialog>
    );
  }
  return (
    <CenteredCard>
      <p class="muted">Access control, health and paginated queries for your Apache Pinot cluster.</p>
      <SignInForm onDone={props.onDone} stay={false} />
    </CenteredCard>
  );
}
