import { href } from './router.ts';

// Sign-in in a separate window, so that the page keeps its input. Both communicate by a BroadcastChannel, because the page's
// Cross-Origin-Opener-Policy removes the opener relation when the window is at the identity provider. Messages contain no secret: the
// session is a cookie.

/** Path of the page that starts the sign-in at the identity provider, below /ui. */
export const SIGN_IN_WINDOW = '/sign-in-window';

const CHANNEL = 'olap-warden-session';
const SIGNED_IN = 'signed-in';

/** Notifies all dashboard pages in this browser that the session was renewed. */
export function announceSignIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches only windows of this origin
  channel.postMessage(SIGNED_IN);
  channel.close();
}

/** Calls `listener` when another window has signed in. Returns a function that removes the listener. */
export function onSignedInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => {
    if (data === SIGNED_IN) listener();
  });
  return () => channel.close();
}

/** @returns false when the browser has blocked the window */
export function openSignInWindow(): boolean {
  return open(href(SIGN_IN_WINDOW), '_blank', 'popup,width=520,height=720') !== null;
}
