import type { Sample, SegmentSummary } from '../snapshot.ts';
import { tokenIs, tokenNumber, type JsonVisitor } from './json-scanner.ts';
import { sampleOf, type Layout } from './layout.ts';

const ID = Buffer.from('id');
const SIMPLE_FIELDS = Buffer.from('simpleFields');
const IN_PROGRESS = Buffer.from('IN_PROGRESS');

/** The fields that are read, by their place in a record. */
const FIELDS = ['start.time', 'end.time', 'total.docs', 'size.in.bytes', 'realtime.startOffset'] as const;
const [START, END, DOCS, SIZE, OFFSET] = [0, 1, 2, 3, 4] as const;
const NAMES = FIELDS.map((field) => Buffer.from(`segment.${field}`));
const STATUS = Buffer.from('segment.realtime.status');

/**
 * The two shapes in which the engine tells the metadata of all segments of a table: `nodes`, an array of
 * `{"id": segment, "simpleFields": {"segment.start.time": "…", …}, "mapFields": {}, "listFields": {}}`, and the terser `map`,
 * `{segment: {"segment.start.time": "…", …}}`.
 */
export type MetadataShape = 'nodes' | 'map';

/** Reads the metadata of all segments of a table. */
export class SegmentMetadataVisitor implements JsonVisitor {
  /** Where each consuming segment began to read its stream. */
  readonly consumingOffsets = new Map<string, number>();
  readonly #layout: Layout;
  readonly #limit: number;
  readonly #documents: Float64Array;
  readonly #bytes: Float64Array;
  readonly #times = new TimeLine();
  readonly #values = new Float64Array(FIELDS.length).fill(Number.NaN);
  #completed = 0;
  #below = 0;
  #unknown = 0;
  #withoutTime = 0;
  #segment = -1;
  #inProgress = false;
  #inFields = false;
  #atId = false;
  #field = -1;

  /** Depth at which the fields of a segment are. */
  readonly #fieldDepth: number;

  /** @param limit bytes below which a segment is small */
  constructor(layout: Layout, limit: number, shape: MetadataShape) {
    this.#fieldDepth = shape === 'nodes' ? 3 : 2;
    this.#inFields = shape === 'map';
    this.#layout = layout;
    this.#limit = limit;
    this.#documents = new Float64Array(layout.sets.length);
    this.#bytes = new Float64Array(layout.sets.length);
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === this.#fieldDepth) {
      this.#field = this.#inFields ? fieldOf(bytes, start, end) : -1;
    } else if (depth === 1) {
      this.#segment = this.#layout.segments.lookup(bytes, start, end);
    } else if (depth === 2) {
      this.#atId = tokenIs(bytes, start, end, ID);
      this.#inFields = tokenIs(bytes, start, end, SIMPLE_FIELDS);
    }
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === this.#fieldDepth) {
      if (this.#field >= FIELDS.length) this.#inProgress = tokenIs(bytes, start, end, IN_PROGRESS);
      else if (this.#field >= 0) this.#values[this.#field] = tokenNumber(bytes, start, end);
    } else if (depth === 2 && this.#atId) {
      this.#segment = this.#layout.segments.lookup(bytes, start, end);
    }
  }

  endObject(depth: number): void {
    if (depth !== 2) return;
    // What the ideal state does not have is being added or removed.
    if (this.#segment >= 0) this.#record(this.#segment);
    this.#values.fill(Number.NaN);
    this.#segment = -1;
    this.#inProgress = false;
  }

  #record(segment: number): void {
    const values = this.#values;
    if (this.#inProgress || this.#layout.consuming[segment] === 1) {
      const offset = values[OFFSET] as number;
      if (!Number.isNaN(offset)) this.consumingOffsets.set(this.#layout.segments.name(segment), offset);
      return;
    }
    const set = this.#layout.setOf[segment] as number;
    const docs = values[DOCS] as number;
    const size = values[SIZE] as number;
    this.#completed += 1;
    if (docs > 0) this.#documents[set] = (this.#documents[set] as number) + docs;
    if (size >= 0) {
      this.#bytes[set] = (this.#bytes[set] as number) + size;
      if (size < this.#limit) this.#below += 1;
    } else {
      this.#unknown += 1;
    }
    // An end of 0 or less is what the engine writes for a segment without rows.
    if ((values[END] as number) > 0 && (values[START] as number) >= 0) {
      this.#times.add(values[START] as number, values[END] as number, segment);
    } else {
      this.#withoutTime += 1;
    }
  }

  summary(): SegmentSummary {
    return {
      completed: this.#completed,
      documents: this.#layout.byServer(this.#documents),
      packedBytes: this.#layout.byServer(this.#bytes),
      packedBelowLimit: this.#below,
      packedUnknown: this.#unknown,
      outOfOrder: this.#times.outOfOrder((segment) => this.#layout.segments.name(segment)),
      withoutTime: this.#withoutTime,
    };
  }
}

/** The fields by the length of their names and their last byte, of which most names of other fields have another. */
const PLACE_BY_END = new Int8Array(64 * 256).fill(-1);
const ALL_NAMES = [...NAMES, STATUS];
ALL_NAMES.forEach((name, place) => {
  const end = name.length * 256 + name.readUInt8(name.length - 1);
  if (PLACE_BY_END[end] !== -1) throw new Error(`the field \`${name.toString()}\` ends like another of its length`);
  PLACE_BY_END[end] = place;
});

/** @returns the place of the field, one past the last for the status, -1 for any other */
function fieldOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length >= 64) return -1;
  const place = PLACE_BY_END[length * 256 + (bytes[end - 1] as number)] as number;
  return place >= 0 && tokenIs(bytes, start, end, ALL_NAMES[place] as Buffer) ? place : -1;
}

/** Start and end times of segments, all in the unit of the table. */
class TimeLine {
  readonly #starts: number[] = [];
  readonly #ends: number[] = [];
  readonly #segments: number[] = [];
  #sorted = true;

  add(start: number, end: number, segment: number): void {
    const last = this.#starts.length - 1;
    if (last >= 0 && !this.#before(this.#starts[last] as number, this.#ends[last] as number, start, end))
      this.#sorted = false;
    this.#starts.push(start);
    this.#ends.push(end);
    this.#segments.push(segment);
  }

  /** Segments that end before the one that precedes them by start, then end. */
  outOfOrder(name: (segment: number) => string): Sample {
    const order = this.#order();
    const found: number[] = [];
    for (let i = 1; i < order.length; i += 1) {
      const current = order[i] as number;
      if ((this.#ends[current] as number) < (this.#ends[order[i - 1] as number] as number)) found.push(current);
    }
    const names = sampleOf(found.slice(0, 10).map((i) => name(this.#segments[i] as number)));
    return { count: found.length, names: names.names };
  }

  #before(startA: number, endA: number, startB: number, endB: number): boolean {
    return startA < startB || (startA === startB && endA <= endB);
  }

  #order(): Uint32Array {
    const order = Uint32Array.from(this.#starts, (_, i) => i);
    if (this.#sorted) return order;
    return order.sort(
      (a, b) =>
        (this.#starts[a] as number) - (this.#starts[b] as number) ||
        (this.#ends[a] as number) - (this.#ends[b] as number),
    );
  }
}
