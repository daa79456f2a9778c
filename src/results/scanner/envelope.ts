import { AT } from '../../platform/json/grammar.ts';
import { EVENT, JsonMachine } from '../../platform/json/machine.ts';
import { tokenText } from '../../platform/json/valid-json.ts';
import { QueryError } from '../errors.ts';

const CLOSE_ARRAY = Uint8Array.of(0x5d);

/** A response without rows is usually a few KB; column names of wide tables or a trace may make it larger. */
const MAX_ENVELOPE_BYTES = 16 * 1024 * 1024;
/** Traces of stages are nested, but far less than this. */
const MAX_DEPTH = 1000;
/** The depth of the fields of `resultTable`. */
const TABLE = 2;

/** The response without its rows: finds the array `resultTable.rows` at any position, checks that all other bytes are JSON, and keeps them. */
export class Envelope {
  #bytes = Buffer.allocUnsafe(4096);
  #length = 0;
  readonly #maxBytes: number;
  readonly #machine = new JsonMachine(MAX_DEPTH);
  /** The last field of the response. */
  #field = '';
  /** The last field of the object in it. */
  #innerField = '';
  #rowsSeen = false;

  constructor(maxBytes = MAX_ENVELOPE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes bytes up to and including the `[` of `resultTable.rows`.
   * @returns the offset after that `[`, or -1 if it is not in this chunk
   * @throws {QueryError} bad-response
   */
  push(chunk: Uint8Array, from: number): number {
    const machine = this.#machine;
    for (let at = from; ;) {
      at = machine.scan(chunk, at, TABLE);
      if (machine.event === EVENT.none) {
        this.#keep(chunk.subarray(from));
        return -1;
      }
      if (this.#opensRows(chunk, from)) {
        this.#keep(chunk.subarray(from, at));
        return at;
      }
    }
  }

  /** The caller has reached the `]` of `rows`. */
  rowsEnded(): void {
    this.#machine.scan(CLOSE_ARRAY, 0, TABLE);
    this.#keep(CLOSE_ARRAY);
  }

  /** The response ends here. @throws {QueryError} bad-response if it is not complete */
  end(): void {
    const machine = this.#machine;
    if (!machine.complete()) throw notJson(machine.depth === 0 && machine.state === AT.value ? 'is empty' : INVALID);
    if (machine.event === EVENT.word) throw notJson(NO_OBJECT);
  }

  /** Number of bytes kept so far. */
  get length(): number {
    return this.#length;
  }

  /** The kept bytes: the response with empty `rows`. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  /** @param from the first byte of the chunk that is not kept yet. @returns whether the event opens `resultTable.rows` */
  #opensRows(chunk: Uint8Array, from: number): boolean {
    const machine = this.#machine;
    const { event, depth } = machine;
    if (event === EVENT.key) {
      if (depth === 1) this.#field = this.#tokenText(chunk, from);
      else this.#innerField = this.#tokenText(chunk, from);
      return false;
    }
    if (event === EVENT.tooDeep) throw notJson(`is nested deeper than ${MAX_DEPTH} levels`);
    if (event === EVENT.invalid) throw notJson(depth === 0 && !machine.inToken ? NO_OBJECT : INVALID);
    if (event === EVENT.openArray && depth === TABLE + 1) return this.#isRows();
    if (event === EVENT.openObject || event === EVENT.openArray) this.#innerField = '';
    const isOutermost = event === EVENT.openArray ? depth === 1 : depth === 0 && event !== EVENT.closeObject;
    if (isOutermost) throw notJson(NO_OBJECT);
    return false;
  }

  #isRows(): boolean {
    if (this.#field !== 'resultTable' || this.#innerField !== 'rows') return false;
    if (this.#rowsSeen) throw notJson('contains `resultTable.rows` twice');
    this.#rowsSeen = true;
    return true;
  }

  /** The text of the token that ended, whose beginning may have been kept. */
  #tokenText(chunk: Uint8Array, from: number): string {
    const { start, end } = this.#machine;
    if (start >= from) return tokenText(chunk, start, end);
    const kept = this.#bytes.subarray(this.#length - from + start, this.#length);
    const whole = Buffer.concat([kept, chunk.subarray(from, end)]);
    return tokenText(whole, 0, whole.length);
  }

  #keep(bytes: Uint8Array): void {
    const needed = this.#length + bytes.length;
    if (needed > this.#maxBytes) throw notJson(`has more than ${this.#maxBytes} bytes in addition to its rows`);
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.#length);
    this.#length = needed;
  }
}

const NO_OBJECT = 'is not a JSON object';
const INVALID = 'is incomplete or not valid JSON';

function notJson(what: string): QueryError {
  return new QueryError('bad-response', `the engine's response ${what}`);
}
