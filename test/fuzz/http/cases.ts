import { MUTATIONS } from './mutations.ts';
import { Random } from './random.ts';
import { type FuzzContext, printRequest, validRequest } from './requests.ts';

/** When the client ends its side: after all bytes, or earlier. */
export type Ending = 'half-close' | 'early half-close' | 'early close' | 'early reset';

export interface FuzzCase {
  readonly number: number;
  readonly id: string;
  /** The mutation of the requests. */
  readonly kind: string;
  readonly bytes: Buffer;
  /** Offsets at which the bytes are split into separate writes, ascending. */
  readonly cuts: readonly number[];
  readonly ending: Ending;
  /**
   * Markers of the expected responses, in order; an undefined one is a page. Undefined as a whole if requests are mutated
   * or truncated.
   */
  readonly expected: readonly (string | undefined)[] | undefined;
  /** The index of a HEAD request; its response has no body. */
  readonly head?: number | undefined;
}

/** The case with a number, determined by the seed. */
export function fuzzCase(seed: number, number: number, context: FuzzContext): FuzzCase {
  const random = new Random(seed ^ Math.imul(number + 1, 0x9e3779b1));
  const id = random.hex(12);
  const roll = random.next();
  if (roll < 0.15) return splitCase(random, { number, id, context });
  if (roll < 0.35) return validCase(random, { number, id, context });
  if (roll < 0.45) return cutOffCase(random, { number, id, context });
  return spoiltCase(random, { number, id, context });
}

interface Of {
  readonly number: number;
  readonly id: string;
  readonly context: FuzzContext;
}

function requests(random: Random, { id, context }: Of, count: number): Pick<FuzzCase, 'bytes' | 'expected'> {
  const list = Array.from({ length: count }, (_, place) => validRequest(random, context, id, place));
  const text = list.map(({ parts }) => printRequest(parts)).join('');
  return { bytes: Buffer.from(text, 'latin1'), expected: list.map(({ marker }) => marker) };
}

function randomCuts(random: Random, length: number): number[] {
  const most = random.pick([0, 0, 1, 3, 10]);
  return Array.from({ length: most }, () => random.below(length)).sort((a, b) => a - b);
}

/** Two requests, split once at an offset that depends on the number of the case; sometimes at every byte. */
function splitCase(random: Random, of: Of): FuzzCase {
  const sent = requests(random, of, 2);
  const { length } = sent.bytes;
  const cuts = random.chance(0.02) ? Array.from({ length }, (_, at) => at) : [of.number % length];
  return { number: of.number, id: of.id, kind: 'split', ...sent, cuts, ending: 'half-close' };
}

function validCase(random: Random, of: Of): FuzzCase {
  const sent = requests(random, of, 1 + random.below(random.chance(0.1) ? 17 : 5));
  return {
    number: of.number,
    id: of.id,
    kind: 'pipelined',
    ...sent,
    cuts: randomCuts(random, sent.bytes.length),
    ending: 'half-close',
  };
}

const EARLY: readonly Ending[] = ['early half-close', 'early close', 'early reset'];

function cutOffCase(random: Random, of: Of): FuzzCase {
  const sent = requests(random, of, 1 + random.below(3));
  const bytes = sent.bytes.subarray(0, random.below(sent.bytes.length + 1));
  const cuts = randomCuts(random, bytes.length);
  return {
    number: of.number,
    id: of.id,
    kind: 'cut off',
    bytes,
    cuts,
    ending: random.pick(EARLY),
    expected: undefined,
  };
}

/** Requests before and after a mutated one. */
function spoiltCase(random: Random, of: Of): FuzzCase {
  const before = Array.from({ length: random.below(3) }, (_, place) => validRequest(random, of.context, of.id, place));
  const mutation = random.pick(MUTATIONS);
  const spoilt = mutation.apply(random, validRequest(random, of.context, of.id, 50).parts);
  const after = Array.from({ length: random.below(3) }, (_, i) => validRequest(random, of.context, of.id, 90 + i));
  const last = validRequest(random, of.context, of.id, 99);
  const closing = { parts: { ...last.parts, headers: [...last.parts.headers, ['Connection', ' close']] as const } };
  const text = [...before, spoilt, ...after, closing]
    .map((one) => (typeof one === 'string' ? one : printRequest(one.parts)))
    .join('');
  const bytes = Buffer.from(text, 'latin1');
  const head = /^\s*HEAD /.test(spoilt) ? before.length : undefined;
  const ending = random.chance(0.9) ? 'half-close' : random.pick(EARLY);
  return {
    number: of.number,
    id: of.id,
    kind: mutation.name,
    bytes,
    cuts: randomCuts(random, bytes.length),
    ending,
    expected: undefined,
    head,
  };
}
