import { href } from './router.ts';

// Signing in again in a window of its own, so that the page that waits for it keeps what was typed. The window and the page
// know each other only by a channel that the browser keeps to this origin: the page's Cross-Origin-Opener-Policy cuts
// every other tie as soon as the window is at the identity provider. No message holds a secret: the session is a cookie.

/** Path of the page that goes to the identity provider, below /ui. */
export const SIGN_IN_WINDOW = '/sign-in-window';

const CHANNEL = 'olap-warden-session';
const SIGNED_IN = 'signed-in';

/** Tells every page of the dashboard in this browser that there is a session again. */
export function announceSignIn(): void {
  const channel = new BroadcastChannel(CHANNEL);
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- the channel has but this origin's windows
  channel.postMessage(SIGNED_IN);
  channel.close();
}

/** Calls `listener` when another window has signed in; returns a function that ends this. */
export function onSignedInElsewhere(listener: () => void): () => void {
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => {
    if (data === SIGNED_IN) listener();
  });
  return () => channel.close();
}

/** @returns false where the browser has blocked the window */
export function openSignInWindow(): boolean {
  return open(href(SIGN_IN_WINDOW), '_blank', 'popup,width=520,height=720') !== null;
}
