import { readOk, type Sample, type SegmentSummary } from '../../snapshot.ts';
import { arrivalsOf } from './arrivals.ts';
import { tokenIs, tokenNumber, type JsonVisitor } from '../calls/json-scanner.ts';
import { tokenText } from '../../../platform/json/valid-json.ts';
import { MAX_NAMES, type Layout } from '../placement/layout.ts';
import { NO_ORPHANS, OrphanNames } from '../placement/orphans.ts';
import { FileReading } from './segment-files.ts';

const ID = Buffer.from('id');
const SIMPLE_FIELDS = Buffer.from('simpleFields');
const IN_PROGRESS = Buffer.from('IN_PROGRESS');

/** The fields that are read; a field's id is its index. */
const FIELDS = [
  'start.time',
  'end.time',
  'total.docs',
  'size.in.bytes',
  'realtime.startOffset',
  'creation.time',
] as const;
const [START, END, DOCS, SIZE, OFFSET, CREATED] = [0, 1, 2, 3, 4, 5] as const;
const NAMES = FIELDS.map((field) => Buffer.from(`segment.${field}`));
const STATUS = Buffer.from('segment.realtime.status');
const URL = Buffer.from('segment.download.url');

/** The first row of a consuming segment. */
export interface ConsumingStart {
  readonly offset: number;
  /** Milliseconds since the epoch; NaN if the metadata has no time. */
  readonly createdAt: number;
}

/**
 * The engine's two formats for the metadata of all segments of a table: `nodes`, an array of
 * `{"id": segment, "simpleFields": {"segment.start.time": "…", …}, "mapFields": {}, "listFields": {}}`, and the shorter `map`,
 * `{segment: {"segment.start.time": "…", …}}`.
 */
export type MetadataShape = 'nodes' | 'map';

/** Reads the metadata of all segments of a table. */
export class SegmentMetadataVisitor implements JsonVisitor {
  /** Where consuming segments start, for streams with numeric offsets. */
  readonly consumingStarts = new Map<string, ConsumingStart>();
  /** Segments that are in only one of the documents. Complete after `summary`. */
  readonly orphans = new OrphanNames();
  readonly #layout: Layout;
  readonly #limit: number;
  readonly #documents: Float64Array;
  readonly #bytes: Float64Array;
  readonly #times: TimeLine;
  readonly #created: Float64Array;
  readonly #seen: Uint8Array;
  readonly #files = new FileReading();
  readonly #values = new Float64Array(FIELDS.length).fill(Number.NaN);
  #completed = 0;
  #below = 0;
  #unknown = 0;
  #withoutTime = 0;
  #segment = -1;
  /** The name of a segment that is not in the ideal state. */
  #unassigned = '';
  #inProgress = false;
  #inFields = false;
  #atId = false;
  #field = -1;

  /** JSON depth of a segment's fields. */
  readonly #fieldDepth: number;

  /** @param limit segments below this many bytes are small */
  constructor(layout: Layout, limit: number, shape: MetadataShape) {
    this.#fieldDepth = shape === 'nodes' ? 3 : 2;
    this.#inFields = shape === 'map';
    this.#layout = layout;
    this.#limit = limit;
    this.#documents = new Float64Array(layout.placements.all.length);
    this.#bytes = new Float64Array(layout.placements.all.length);
    this.#times = new TimeLine(layout.size);
    this.#created = new Float64Array(layout.size).fill(Number.NaN);
    this.#seen = new Uint8Array(layout.size);
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === this.#fieldDepth) {
      this.#field = this.#inFields ? fieldOf(bytes, start, end) : -1;
    } else if (depth === 1) {
      this.#identify(bytes, start, end);
    } else if (depth === 2) {
      this.#atId = tokenIs(bytes, start, end, ID);
      this.#inFields = tokenIs(bytes, start, end, SIMPLE_FIELDS);
    }
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === this.#fieldDepth) this.#value(this.#field, bytes, start, end);
    else if (depth === 2 && this.#atId) this.#identify(bytes, start, end);
  }

  #identify(bytes: Buffer, start: number, end: number): void {
    this.#segment = this.#layout.segments.lookup(bytes, start, end);
    this.#unassigned = this.#segment < 0 ? tokenText(bytes, start, end) : '';
  }

  #value(field: number, bytes: Buffer, start: number, end: number): void {
    if (field < 0) return;
    if (field < FIELDS.length) this.#values[field] = tokenNumber(bytes, start, end);
    else if (field === FIELDS.length) this.#inProgress = tokenIs(bytes, start, end, IN_PROGRESS);
    else this.#files.url(bytes, start, end);
  }

  endObject(depth: number): void {
    if (depth !== 2) return;
    // A segment that is not in the ideal state may be about to be added or removed.
    if (this.#segment >= 0) this.#record(this.#segment);
    else if (this.#unassigned !== '') this.orphans.addUnassigned(this.#unassigned);
    this.#unassigned = '';
    this.#values.fill(Number.NaN);
    this.#files.next();
    this.#segment = -1;
    this.#inProgress = false;
  }

  #record(segment: number): void {
    const values = this.#values;
    this.#seen[segment] = 1;
    const placement = this.#layout.placementOf(segment);
    if (this.#inProgress || this.#layout.placements.all[placement]?.consuming === true) {
      const offset = values[OFFSET] as number;
      if (!Number.isNaN(offset)) {
        const start = { offset, createdAt: values[CREATED] as number };
        this.consumingStarts.set(this.#layout.segments.name(segment), start);
      }
      return;
    }
    const docs = values[DOCS] as number;
    const size = values[SIZE] as number;
    this.#completed += 1;
    this.#files.record(segment, values[CREATED] as number);
    if ((values[CREATED] as number) > 0) this.#created[segment] = values[CREATED] as number;
    if (docs > 0) this.#documents[placement] = (this.#documents[placement] as number) + docs;
    if (size >= 0) {
      this.#bytes[placement] = (this.#bytes[placement] as number) + size;
      if (size < this.#limit) this.#below += 1;
    } else {
      this.#unknown += 1;
    }
    // The engine writes an end time of 0 or less for a segment without rows.
    if ((values[END] as number) > 0 && (values[START] as number) >= 0) {
      this.#times.set(segment, values[START] as number, values[END] as number);
    } else {
      this.#withoutTime += 1;
    }
  }

  /** Call it once, at the end. */
  summary(): SegmentSummary {
    this.#seen.forEach((seen, segment) => {
      if (seen === 0) this.orphans.addWithoutMetadata(this.#layout.segments.name(segment));
    });
    return {
      completed: this.#completed,
      documents: this.#layout.byServer(this.#documents),
      packedBytes: this.#layout.byServer(this.#bytes),
      packedBelowLimit: this.#below,
      packedUnknown: this.#unknown,
      outOfOrder: this.#times.outOfOrder((segment) => this.#layout.segments.name(segment)),
      withoutTime: this.#withoutTime,
      arrivals: arrivalsOf(this.#created),
      // Replaced after a second read if this one has some.
      orphans: readOk(NO_ORPHANS),
      files: this.#files.summary((segment) => this.#layout.segments.name(segment)),
    };
  }
}

/** Field ids by the length and the last byte of the name: a quick test that excludes most other fields. */
const FIELD_BY_END = new Int8Array(64 * 256).fill(-1);
const ALL_NAMES = [...NAMES, STATUS, URL];
ALL_NAMES.forEach((name, field) => {
  const end = name.length * 256 + name.readUInt8(name.length - 1);
  if (FIELD_BY_END[end] !== -1)
    throw new Error(`the field \`${name.toString()}\` has the length and last byte of another field`);
  FIELD_BY_END[end] = field;
});

/** @returns the id of the field, FIELDS.length for the status, one more for the URL, -1 for any other field */
function fieldOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  if (length === 0 || length >= 64) return -1;
  const field = FIELD_BY_END[length * 256 + (bytes[end - 1] as number)] as number;
  return field >= 0 && tokenIs(bytes, start, end, ALL_NAMES[field] as Buffer) ? field : -1;
}

/** Start and end times of segments, all in the unit of the table. */
class TimeLine {
  /** The key is the segment. The value is NaN if the segment has no time. */
  readonly #starts: Float64Array;
  readonly #ends: Float64Array;

  constructor(segments: number) {
    this.#starts = new Float64Array(segments).fill(Number.NaN);
    this.#ends = new Float64Array(segments);
  }

  set(segment: number, start: number, end: number): void {
    this.#starts[segment] = start;
    this.#ends[segment] = end;
  }

  /** Segments, sorted by start and then end, that end before the previous one. */
  outOfOrder(name: (segment: number) => string): Sample {
    let count = 0;
    const names: string[] = [];
    let last = Number.NEGATIVE_INFINITY;
    for (const segment of this.#order()) {
      const end = this.#ends[segment] as number;
      if (end < last) {
        count += 1;
        if (names.length < MAX_NAMES) names.push(name(segment));
      }
      last = end;
    }
    return { count, names };
  }

  /** Segments with times, sorted by start and then end. */
  #order(): Uint32Array {
    const order = new Uint32Array(this.#starts.length);
    let count = 0;
    let sorted = true;
    for (let segment = 0; segment < order.length; segment += 1) {
      if (Number.isNaN(this.#starts[segment])) continue;
      // The order of the names is usually the order of the times.
      if (count > 0 && this.#compare(order[count - 1] as number, segment) > 0) sorted = false;
      order[count] = segment;
      count += 1;
    }
    const timed = order.subarray(0, count);
    return sorted ? timed : timed.sort((a, b) => this.#compare(a, b));
  }

  #compare(a: number, b: number): number {
    return (
      (this.#starts[a] as number) - (this.#starts[b] as number) || (this.#ends[a] as number) - (this.#ends[b] as number)
    );
  }
}
