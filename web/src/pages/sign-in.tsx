import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { BusyButton, Dialog, ErrorNote, Form } from '../components/basics.tsx';
import { TextField } from '../components/fields.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { leaveForProvider, type SignInMethods } from '../lib/oidc.ts';
import { href } from '../lib/router.ts';
import { signIn } from '../lib/session.ts';
import { announceSignIn, onSignedInElsewhere, openSignInWindow, SIGN_IN_WINDOW } from '../lib/sign-in-window.ts';
import { useData } from '../lib/use-data.ts';
import { Alone } from './sign-in-window.tsx';

/** Signing in with the identity provider: by a window of its own where this page must stay as it is. */
function Provider(props: { oidc: NonNullable<SignInMethods['oidc']>; stay: boolean }): JSX.Element {
  const [opened, setOpened] = useState<boolean>();
  return (
    <div class="provider">
      <p class="or muted">or</p>
      <BusyButton
        onPress={async () => {
          if (props.stay) setOpened(openSignInWindow());
          else await leaveForProvider(props.oidc, false);
        }}
      >
        Sign in with your identity provider
      </BusyButton>
      {opened === true && (
        <p class="hint" role="status">
          Sign in in the window that has opened. This page waits, with all that you typed.
        </p>
      )}
      {opened === false && (
        <div class="note note-warn" role="alert">
          <span>
            Your browser has blocked the window.{' '}
            <a href={href(SIGN_IN_WINDOW)} target="_blank" rel="noreferrer">
              Sign in in a new tab
            </a>
            : this page waits, with all that you typed.
          </span>
        </div>
      )}
    </div>
  );
}

/** @param props.stay true where the page behind holds what somebody typed, so that it must not be left */
function SignInForm(props: { onDone: () => Promise<void>; stay: boolean }): JSX.Element {
  const [token, setToken] = useState('');
  const [error, setError] = useState<string>();
  const methods = useData('methods', (signal) =>
    call<SignInMethods>('/ui/session/methods', { signal, quiet401: true }),
  );
  const attempt = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
      await props.onDone();
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  // Whichever window signs in does so for all of them: they share the cookie.
  useEffect(() => onSignedInElsewhere(() => void attempt(async () => undefined)), []);
  const submit = (): Promise<void> =>
    attempt(async () => {
      await signIn(token.trim());
      setToken('');
      announceSignIn();
    });
  const oidc = methods.value?.oidc;
  return (
    <>
      <Form>
        <TextField
          label="Token"
          hint="A service token (svc-…), a Kubernetes token, an OIDC token, or the administrator's token of a standalone start."
          type="password"
          required
          autoFocus
          value={token}
          onChange={setToken}
        />
        <ErrorNote message={error} />
        <BusyButton class="primary" type="submit" onPress={submit} disabled={token.trim() === ''}>
          Sign in
        </BusyButton>
      </Form>
      {oidc && <Provider oidc={oidc} stay={props.stay} />}
    </>
  );
}

/**
 * @param props.onDone opens the dashboard; throws where there is no session after all
 * @param props.again true where a session that was open has ended: the page behind stays as it is
 */
export function SignIn(props: { onDone: () => Promise<void>; again?: boolean }): JSX.Element {
  if (props.again) {
    return (
      <Dialog title="Your session has ended">
        <p>Sign in again. Nothing you typed is lost.</p>
        <SignInForm onDone={props.onDone} stay />
      </Dialog>
    );
  }
  return (
    <Alone>
      <p class="muted">Access, health and paginated queries of your Apache Pinot cluster.</p>
      <SignInForm onDone={props.onDone} stay={false} />
    </Alone>
  );
}
