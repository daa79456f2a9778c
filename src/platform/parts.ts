/** Work in parts: at each `yield`, other work may come in between. */
export type Parts<T> = Generator<undefined, T, undefined>;

/** Does all parts at once. */
export function atOnce<T>(work: Parts<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Settles when the next part may begin; undefined if it may at once. */
export type Turn = () => Promise<void> | undefined;

/** Does the first part at once, and waits for `turn` before each further one. @returns without a promise where there is no further one */
export function inTurns<T>(work: Parts<T>, turn: Turn): T | Promise<T> {
  const { done, value } = work.next();
  return done === true ? value : rest(work, turn);
}

async function rest<T>(work: Parts<T>, turn: Turn): Promise<T> {
  for (;;) {
    await turn();
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
