import { AT } from '../../platform/json/grammar.ts';
import { EVENT, JsonMachine } from '../../platform/json/machine.ts';
import { QueryError } from '../errors.ts';

/** Called at the start of a row with its number (from 0) and its offset in the current chunk. */
export type RowSink = (row: number, offset: number) => void;

/** The depth at which the JSON library of the engine stops, too (Jackson: `StreamWriteConstraints.DEFAULT_MAX_DEPTH`). */
const MAX_NESTING = 1000;
/** The depth of the array of rows. */
const ROWS = 1;

/** Scans one `rows` array, chunk by chunk, starting after its `[`. Every byte is checked to be JSON; UTF-8 is checked by `Utf8Check`. */
export class RowWalk {
  /** Number of rows started so far. */
  rows = 0;
  /** True after the `]` of `rows` or after the last requested row. */
  ended = false;
  readonly #limit: number;
  readonly #machine = new JsonMachine(ROWS + MAX_NESTING);

  /** @param limit stops after this many rows; default: at the `]` of `rows` */
  constructor(limit = Number.MAX_SAFE_INTEGER) {
    this.#limit = limit;
    this.#machine.beginInArray();
  }

  /**
   * @param stride calls the sink for every `stride`-th row
   * @returns how many bytes of the chunk belong to the array: all of them unless it ended in this chunk
   * @throws {QueryError} bad-response
   */
  scan(bytes: Uint8Array, stride: number, sink: RowSink): number {
    const machine = this.#machine;
    let at = 0;
    while (!this.ended) {
      at = machine.scan(bytes, at, ROWS);
      switch (machine.event) {
        case EVENT.openArray:
          if (this.rows % stride === 0) sink(this.rows, at - 1);
          this.rows++;
          break;
        case EVENT.closeArray:
          this.ended = machine.depth < ROWS || this.rows === this.#limit;
          break;
        case EVENT.none:
          if (machine.depth === ROWS && machine.inToken) throw this.#error(OTHER_ROW);
          return at;
        case EVENT.openObject:
          throw this.#error('an object where a row (an array) should begin');
        case EVENT.tooDeep:
          throw this.#error(`values nested deeper than ${MAX_NESTING} levels`);
        case EVENT.invalid:
          throw this.#error(rejection(machine, bytes[at - 1] as number));
        default:
          throw this.#error(OTHER_ROW);
      }
    }
    return at;
  }

  #error(what: string): QueryError {
    return new QueryError(
      'bad-response',
      `the engine's response is not valid JSON: \`resultTable.rows\` has ${what} near row ${this.rows}`,
    );
  }
}

const COMMA = 0x2c;
const CLOSE_ARRAY = 0x5d;
const CLOSE_OBJECT = 0x7d;
const SPACE = 0x20;

const MISMATCH = 'a closing bracket that does not match the opening one';
const OTHER_ROW = 'a value other than an array where a row should begin';

/** What is wrong with a byte that the machine rejects. */
function rejection({ state, depth }: JsonMachine, byte: number): string {
  if (depth === ROWS) return betweenRows(state, byte);
  if (state <= AT.colon) return outsideValue(state, byte);
  if (state < AT.minus)
    return byte < SPACE ? 'a control character inside a string' : 'an invalid escape inside a string';
  return state < AT.literals ? 'an invalid number' : 'an invalid value';
}

function betweenRows(state: number, byte: number): string {
  if (state > AT.colon) return OTHER_ROW;
  if (byte === CLOSE_OBJECT) return MISMATCH;
  if (byte === COMMA) return 'a comma where a row should begin';
  if (byte === CLOSE_ARRAY) return 'a comma after the last row';
  return state === AT.after ? 'no comma between two rows' : OTHER_ROW;
}

function outsideValue(state: number, byte: number): string {
  if (state === AT.colon) return 'an object with a name without a value';
  if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT)
    return state === AT.value || state === AT.key ? 'a closing bracket where a value should be' : MISMATCH;
  if (byte === COMMA) return 'a comma where a value should be';
  if (state === AT.after) return 'no comma between two values';
  return state === AT.firstKey || state === AT.key ? 'an object with a name that is not a string' : 'an invalid value';
}
