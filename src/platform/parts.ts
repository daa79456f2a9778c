/** Work in parts: at each `yield`, other work may come in between. */
export type Parts<T> = Generator<undefined, T, undefined>;

/** Does all parts at once. */
export function atOnce<T>(work: Parts<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}

/** Does the first part at once, and waits for `turn` before each further one. */
export async function inTurns<T>(work: Parts<T>, turn: () => Promise<void>): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
    await turn();
  }
}
