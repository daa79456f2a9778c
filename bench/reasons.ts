import type { Row } from './frame/rows.ts';

interface Reason {
  /** Matches the work of the rows. */
  readonly work: RegExp;
  readonly text: string;
}

/** Why goals are missed, as far as it is known. A reason is printed only for rows that miss. */
const REASONS: readonly Reason[] = [
  {
    work: /^a query for 10 rows on Pinot .*, 1 client:/,
    text: 'The gateway adds a second exchange over a socket and its own CPU time, which the row below shows, to a query of a few milliseconds. At so few queries a second its code and the caches are cold: with many clients it takes about half the CPU for each query',
  },
  {
    work: /^a query for 10 rows on Pinot .*, \d+ clients:/,
    text: 'Pinot and the gateway share the cores of this machine and keep all of them busy, so the rates are as the CPU times of a query: Pinot alone against Pinot and the gateway. On cores of its own the gateway takes none from Pinot',
  },
  {
    work: /^indexing .*, js:/,
    text: 'The kernel without WebAssembly looks at each byte once, in JavaScript. The profile has four fifths of its time in the loop over the bytes of strings and digits; loops with a table or with one comparison for each byte are not faster. Only runtimes without WebAssembly SIMD use it',
  },
];

/** The reason of a missed row: what was seen when it was measured, or else what is known about its work. */
export function reasonOfMiss({ work, reason }: Row): string | undefined {
  return reason ?? REASONS.find((known) => known.work.test(work))?.text;
}
