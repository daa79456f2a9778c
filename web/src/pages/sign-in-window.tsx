import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Loading } from '../components/basics.tsx';
import { ErrorNote } from '../components/loaded.tsx';
import { call, messageOfError } from '../lib/api.ts';
import { finishSignIn, startSignIn, type SignInResult } from '../lib/oidc.ts';
import type { SignInMethods } from '../lib/types.ts';
import { navigate } from '../lib/router.ts';
import { announceSignIn, SIGN_IN_WINDOW } from '../lib/sign-in-window.ts';

/** A page with a single centred card. */
export function CenteredCard(props: { children: ComponentChildren }): JSX.Element {
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

/** First page of the sign-in window: it redirects to the identity provider. */
export function SignInWindow(): JSX.Element {
  const [error, setError] = useState<string>();
  const start = async (): Promise<void> => {
    setError(undefined);
    try {
      const { oidc } = await call<SignInMethods>('/ui/session/methods', { ignore401: true });
      if (oidc) await startSignIn(oidc, true);
      else setError('The identity provider is not reachable. Try again, or sign in with a token on the previous page.');
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  useEffect(() => {
    void start();
  }, []);
  return (
    <CenteredCard>
      {error === undefined ? (
        <Loading what="your identity provider" />
      ) : (
        <ErrorNote message={error} retry={() => void start()} />
      )}
    </CenteredCard>
  );
}

/** The redirect URI of the identity provider. */
export function SignedIn(): JSX.Element {
  const [result, setResult] = useState<SignInResult>();
  useEffect(() => {
    const query = new URLSearchParams(location.search);
    // The authorization code must not stay in the history.
    history.replaceState(null, '', location.pathname);
    void finishSignIn(query).then((outcome) => {
      if (outcome.error === undefined) announceSignIn();
      if (outcome.error === undefined && !outcome.inWindow) {
        navigate(outcome.back, true);
        return;
      }
      setResult(outcome);
      if (outcome.error === undefined) close();
    });
  }, []);
  if (!result) {
    return (
      <CenteredCard>
        <Loading what="your session" />
      </CenteredCard>
    );
  }
  return (
    <CenteredCard>
      <ErrorNote message={result.error} />
      {result.error === undefined ? (
        <p role="status">You are signed in. Close this window and return to the previous page.</p>
      ) : (
        <button
          type="button"
          class="primary"
          onClick={() => navigate(result.inWindow ? SIGN_IN_WINDOW : '/health', true)}
        >
          Start again
        </button>
      )}
    </CenteredCard>
  );
}
