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
    work: /^policy decision, [\d,]+ roles/,
    text: 'Most of the time is waiting for memory, because each of the 500 callers has an index of its own: on a machine with 2 MB of second-level cache for a core the same test made 3.67 M decisions a second, on one with 512 KB and slow memory between 1 and 3 M, depending on the load of the host. Fields that a decision needs are adjacent, and the indexes were made smaller for this reason',
  },
  {
    work: /^SQL check of \d+ characters, for each character$/,
    text: 'The tokens and pieces of a long text are alive until it is printed, so the collections of garbage in between copy them: about a fifth of the time by the trace of the collector. Those of a short text are gone by then',
  },
  {
    work: /^idle (?:gateway|operator), .*: CPU$/,
    text: 'Most of it is the timer of Node.js that measures the lag of the event loop for the metrics, 100 times a second: a process that does nothing else takes half a percent of a core and more on a slow machine',
  },
  {
    work: /^a(?: query for 10 rows|n aggregation over [\d,]+ rows) on Pinot .*, 1 client:/,
    text: 'The gateway adds a second exchange over a socket and its own CPU time, which the row "CPU of the gateway" shows, to a query of 5 to 15 ms. Between two queries Pinot replaces what the processor caches had of the gateway: each takes several times the CPU of one in a row of thousands',
  },
  {
    work: /^a(?: query for 10 rows|n aggregation over [\d,]+ rows) on Pinot .*, \d+ clients:/,
    text: 'Pinot and the gateway share the cores of this machine and keep all of them busy, so the rates are as the CPU times of a query: Pinot alone against Pinot and the gateway, whose caches Pinot replaces meanwhile. On cores of its own the gateway takes none from Pinot',
  },
  {
    work: /^a page of \d+ rows \([^)]+\) from the file store$/,
    text: 'The bare server looks up no page, checks no caller and verifies no rows. In the profile (under "What the hot paths spend") the largest part is the write to the socket, as in the bare server; the next one is the CRC-32 of the blocks',
  },
  {
    work: /^a query of 1 M rows as a DataFrame, Arrow$/,
    text: 'The columns are written in TypeScript: each row is read three times, for its end when it is stored, for the last complete row of a piece, and for its values. Programs in WebAssembly read it in a fraction of the time, at the price of code that nobody can review in the tree',
  },
  {
    work: /^a query of a whole table, 10 KB, of a caller whose policies limit another table: CPU of the gateway$/,
    text: 'It was measured once and misses by a hundredth or two. The caller has a condition, so each decision also looks for those of the table; callers without any condition are the peer',
  },
  {
    work: /^pass-through of POST \/query\/sql, 10 KB/,
    text: 'The peers neither read and judge the text, nor check a credential, count the request by its caller, or compare the tables in the response. The profile (under "What the hot paths spend") is flat: the largest part is the two writes to sockets, as in the peers; each of these checks is 3 to 8 % with what it calls',
  },
  {
    work: /^pass-through of POST \/query\/sql, 1024 KB/,
    text: `A third of the time is writes to sockets. The garbage collector with its threads takes up to half, also in the peers: ${OUTSIDE_HEAP}. These mark the whole heap, that of the gateway, too, and whether small or full collections prevail varies from one process to the next: the same gateway took 1.4 to 2.9 ms. What the peers leave out in addition: the beginning of a response is held until another broker need not be tried, and its end until its list of tables is checked`,
  },
  {
    work: /^growth of resident memory, /,
    text: `The trace of the garbage collector explains it: ${OUTSIDE_HEAP}. The growth is what is read and sent between two collections, 25 to 65 MB by their times; it does not grow with the result`,
  },
  {
    work: /^health run, .*: CPU$/,
    text: 'About an eighth is two calls for each table, which ask the controller whether it has the files of segments (`DEEP_STORE_CHECK`): each opens a connection, because the client does not use one again after HEAD. The next runs do not repeat them. The scanner itself takes less than JSON.parse for the same bytes; the ratio depends on the machine, too: 1.0 where JSON.parse reads 95 MB a CPU second, 1.4 where it reads 190 MB',
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
    work: /^event loop held by SQL: the longest policy, the longest name$/,
    text: 'One decision is not split: with the longest policy that the limits allow, each of its patterns is compared with a name of the maximum length. It takes 20 to 60 ms, as the machine is; only a caller who may write policies can make such a one',
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
