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
    work: /^a page of \d+ rows \([^)]+\) from the file store$/,
    text: 'The bare server looks up no page, checks no caller and verifies no rows. In the profile of large pages nearly half of the time is the write to the socket, as in the bare server; the CRC-32 of the blocks is about a fifth',
  },
  {
    work: /^pass-through of POST \/query\/sql, 10 KB/,
    text: 'The profile is flat: about a third is the two writes to sockets, as in the peers; reading and judging the text, the credential and the check of the tables in the response are 3 to 6 % each. The peers do none of them',
  },
  {
    work: /^pass-through of POST \/query\/sql, 1024 KB/,
    text: 'More than half of the time is writes to sockets. The rest is what the peers leave out: the beginning of a response is held until another broker need not be tried, and its end until its list of tables is checked',
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
