import type { SegmentSummary, SizeSummary } from '../../snapshot.ts';
import { rounded } from '../../numbers.ts';
import { tokenIs, tokenNumber, type JsonVisitor } from '../calls/json-scanner.ts';
import { sampleOf, type Layout } from '../placement/layout.ts';
import type { ControllerCall } from '../calls/call.ts';
import type { EngineReader } from '../calls/reader.ts';

const SEGMENTS = Buffer.from('segments');
const DISK_SIZE = Buffer.from('diskSizeInBytes');

export interface SizeLimits {
  /** Segments below this many bytes are small. */
  readonly smallBytes: number;
  /** Allowed fraction of small segments. */
  readonly smallFraction: number;
}

/**
 * Reads the sizes on disk of a table's segments. The verbose response has 400 bytes for each segment, so it is read only if it can change the
 * result: a segment is at least as large on disk as packed. If few enough packed segments are small, few enough are small on disk, and the
 * table's total size gives the ratio between disk and packed size.
 */
export async function readSizes(
  reader: EngineReader,
  call: (verbose: boolean) => ControllerCall,
  table: { layout: Layout; segments: SegmentSummary },
  limits: SizeLimits,
): Promise<SizeSummary> {
  const { layout, segments } = table;
  if (segments.completed === 0) return { small: sampleOf([]), measured: 0, bytes: new Map(), incomplete: undefined };
  const needsDetail = segments.packedBelowLimit > limits.smallFraction * segments.completed;
  if (segments.packedUnknown > 0 || needsDetail) {
    const visitor = await reader.stream(call(true), () => new SizeVisitor(layout, limits.smallBytes));
    return visitor.summary(segments.completed);
  }
  const total = totalBytes(await reader.json(call(false)));
  let packed = 0;
  for (const bytes of segments.packedBytes.values()) packed += bytes;
  const bytes = new Map<string, number>();
  for (const [server, size] of segments.packedBytes) bytes.set(server, packed === 0 ? 0 : (size / packed) * total);
  return {
    small: { count: segments.packedBelowLimit, names: [] },
    measured: segments.completed,
    bytes,
    incomplete: undefined,
  };
}

/** Bytes of all replicas; the engine estimates those of servers that did not respond. */
function totalBytes(body: unknown): number {
  const { estimatedSizeInBytes: total } = (body ?? {}) as { estimatedSizeInBytes?: unknown };
  if (typeof total !== 'number' || total < 0) throw new Error('no server of the table reported a size');
  return total;
}

/** Reads `{…, "offlineSegments": {…, "segments": {name: {…, "serverInfo": {server: {"diskSizeInBytes": n}}}}}}`. */
class SizeVisitor implements JsonVisitor {
  readonly #layout: Layout;
  readonly #limit: number;
  readonly #bytes: Float64Array;
  readonly #small: number[] = [];
  #measured = 0;
  #inSegments = false;
  #segment = -1;
  #isDiskSize = false;
  /** The largest reported size; replicas of a segment differ by a few bytes. */
  #size = -1;

  constructor(layout: Layout, limit: number) {
    this.#layout = layout;
    this.#limit = limit;
    this.#bytes = new Float64Array(layout.placements.all.length);
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 6) {
      this.#isDiskSize = tokenIs(bytes, start, end, DISK_SIZE);
    } else if (depth === 3 && this.#inSegments) {
      this.#segment = this.#layout.segments.lookup(bytes, start, end);
      this.#size = -1;
    } else if (depth === 2) {
      this.#inSegments = tokenIs(bytes, start, end, SEGMENTS);
    }
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth !== 6 || !this.#isDiskSize) return;
    const size = tokenNumber(bytes, start, end);
    if (size > this.#size) this.#size = size;
  }

  endObject(depth: number): void {
    if (depth !== 4 || !this.#inSegments || this.#segment < 0) return;
    // A consuming segment has no size on disk (-1, or 0 while it is empty).
    const placement = this.#layout.placementOf(this.#segment);
    if (this.#layout.placements.all[placement]?.consuming === true || this.#size < 0) return;
    this.#bytes[placement] = (this.#bytes[placement] as number) + this.#size;
    this.#measured += 1;
    if (this.#size < this.#limit) this.#small.push(this.#segment);
    this.#segment = -1;
  }

  summary(completed: number): SizeSummary {
    const missing = completed - this.#measured;
    return {
      small: {
        count: this.#small.length,
        names: this.#small.slice(0, 10).map((segment) => this.#layout.segments.name(segment)),
      },
      measured: this.#measured,
      bytes: this.#layout.byServer(this.#bytes),
      incomplete:
        missing <= 0
          ? undefined
          : `no server reported the size of ${rounded(missing)} of ${rounded(completed)} segments`,
    };
  }
}
