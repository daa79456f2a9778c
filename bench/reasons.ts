import type { Row } from './frame/rows.ts';

interface Reason {
  /** Matches the work of the rows. */
  readonly work: RegExp;
  readonly text: string;
}

const OUTSIDE_HEAP =
  'what sockets have read lies outside of the JavaScript heap until a collection frees it, and each 60 MB or so of it begin a full collection';

/** Why goals are missed, as far as it is known. A reason is printed only for rows that miss. */
const REASONS: readonly Reason[] = [
  {
    work: /^a(?: query for 10 rows|n aggregation over [\d,]+ rows) on Pinot .*, 1 client:/,
    text: 'The gateway adds a second exchange over a socket and its own CPU time, which the row "CPU of the gateway" shows, to a query of 5 to 15 ms. At so few queries a second its code and the caches are cold: with many clients it takes about half the CPU for each query',
  },
  {
    work: /^a(?: query for 10 rows|n aggregation over [\d,]+ rows) on Pinot .*, \d+ clients:/,
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
    text: `A third of the time is writes to sockets. The garbage collector with its threads takes up to half, also in the peers: ${OUTSIDE_HEAP}. These mark the whole heap, that of the gateway, too, and whether small or full collections prevail varies from one process to the next: the same gateway took 1.4 to 2.9 ms. What the peers leave out in addition: the beginning of a response is held until another broker need not be tried, and its end until its list of tables is checked`,
  },
  {
    work: /^indexing .*, js$/,
    text: 'The kernel without WebAssembly looks at each byte once, in JavaScript. The profile has four fifths of its time in the loop over the bytes of strings and digits; loops with a table or with one comparison for each byte are not faster. Only runtimes without WebAssembly SIMD use it',
  },
  {
    work: /^growth of resident memory, /,
    text: `The trace of the garbage collector explains it: ${OUTSIDE_HEAP}. The growth is what is read and sent between two collections, 25 to 65 MB by their times; it does not grow with the result`,
  },
  {
    work: /^health run, .*: memory$/,
    text: 'The peak is the heap before a collection, while the responses of the largest calls are read: it varies by 30 MB from run to run',
  },
  {
    work: /^\d+ clients page, each every \d+ s, while 1 GB is stored: event-loop delay p99$/,
    text: `The longest pauses are full collections of 10 to 20 ms: ${OUTSIDE_HEAP}`,
  },
  {
    work: /^event loop held by SQL: columns$/,
    text: 'It is the first text that the process checks, with the largest syntax tree that the limits allow: its code is not compiled yet, and the third such text takes half of the time. In the profile a sixth is the garbage collector, and no function has more than a tenth',
  },
];

/** The reason of a missed row: what was seen when it was measured, or else what is known about its work. */
export function reasonOfMiss({ work, reason }: Row): string | undefined {
  return reason ?? REASONS.find((known) => known.work.test(work))?.text;
}

/** The missed rows that nothing explains. Look at a profile (`make bench PROFILE=1`), mend what it shows, and say above what then still misses. */
export function unexplained(rows: readonly Row[]): readonly Row[] {
  return rows.filter((row) => !row.met && reasonOfMiss(row) === undefined);
}
