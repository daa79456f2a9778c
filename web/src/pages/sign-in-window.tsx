import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ErrorNote, Loading } from '../components/basics.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { comeBackFromProvider, leaveForProvider, type Arrival, type SignInMethods } from '../lib/oidc.ts';
import { navigate } from '../lib/router.ts';
import { announceSignIn, SIGN_IN_WINDOW } from '../lib/sign-in-window.ts';

/** What stands alone in the middle of a window. */
export function Alone(props: { children: ComponentChildren }): JSX.Element {
  return (
    <main class="alone">
      <section class="card sign-in">
        <h1>
          <img src="/ui/assets/icon.svg" alt="" width={32} height={32} /> olap-warden
        </h1>
        {props.children}
      </section>
    </main>
  );
}

/** What a window that was opened to sign in shows first: it goes on to the identity provider. */
export function SignInWindow(): JSX.Element {
  const [error, setError] = useState<string>();
  const leave = async (): Promise<void> => {
    setError(undefined);
    try {
      const { oidc } = await call<SignInMethods>('/ui/session/methods', { quiet401: true });
      if (oidc) await leaveForProvider(oidc, true);
      else setError('The identity provider cannot be reached. Try again, or sign in with a token where you came from.');
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  useEffect(() => {
    void leave();
  }, []);
  return (
    <Alone>
      {error === undefined ? (
        <Loading what="your identity provider" />
      ) : (
        <ErrorNote message={error} retry={() => void leave()} />
      )}
    </Alone>
  );
}

/** Where the identity provider leads back to. */
export function SignedIn(): JSX.Element {
  const [arrival, setArrival] = useState<Arrival>();
  useEffect(() => {
    const query = new URLSearchParams(location.search);
    // The code counts once, and belongs into no history.
    history.replaceState(null, '', location.pathname);
    void comeBackFromProvider(query).then((result) => {
      if (result.refusal === undefined) announceSignIn();
      if (result.refusal === undefined && !result.inWindow) {
        navigate(result.back, true);
        return;
      }
      setArrival(result);
      if (result.refusal === undefined) close();
    });
  }, []);
  if (!arrival) {
    return (
      <Alone>
        <Loading what="your session" />
      </Alone>
    );
  }
  return (
    <Alone>
      <ErrorNote message={arrival.refusal} />
      {arrival.refusal === undefined ? (
        <p role="status">You are signed in. Close this window and go on where you were.</p>
      ) : (
        <button
          type="button"
          class="primary"
          onClick={() => navigate(arrival.inWindow ? SIGN_IN_WINDOW : '/health', true)}
        >
          Begin again
        </button>
      )}
    </Alone>
  );
}
