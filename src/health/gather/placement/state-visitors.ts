import { tokenIs, type JsonVisitor } from '../calls/json-scanner.ts';
import { OPEN_OBJECT, tokenText } from '../../../platform/json/valid-json.ts';
import { Differences } from './differences.ts';
import type { Layout } from './layout.ts';
import { Placements } from './placements.ts';

/** No segment or no placement. */
const ABSENT = -1;

/** Reads `{"OFFLINE": {segment: {server: state}} | null, "REALTIME": …}`, of which only one type is used. */
abstract class StateVisitor implements JsonVisitor {
  /** Most segments have the same replicas as an earlier one, so their objects are compared as a whole. */
  readonly maxDepth = 2;
  /** True if the table has a document of this type. */
  found = false;
  readonly #type: Buffer;
  readonly #placements: Placements;
  #relevant = false;

  constructor(type: string, placements: Placements) {
    this.#type = Buffer.from(type);
    this.#placements = placements;
  }

  protected abstract segment(bytes: Buffer, start: number, end: number): void;
  protected abstract done(placement: number): void;

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1) this.#relevant = tokenIs(bytes, start, end, this.#type);
    else if (this.#relevant) this.segment(bytes, start, end);
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (this.#relevant && depth === 2 && bytes[start] === OPEN_OBJECT)
      this.done(this.#placements.ofObject(bytes, start, end));
  }

  endObject(depth: number): void {
    if (this.#relevant && depth === 2) this.found = true;
  }
}

export class IdealStateVisitor extends StateVisitor {
  readonly #layout: Layout;
  #segment = 0;

  constructor(layout: Layout, type: string) {
    super(type, layout.placements);
    this.#layout = layout;
  }

  protected override segment(bytes: Buffer, start: number, end: number): void {
    this.#segment = this.#layout.segments.add(bytes, start, end);
  }

  protected override done(placement: number): void {
    this.#layout.place(this.#segment, placement);
  }
}

/** Compares an external view with a layout. */
export class ExternalViewVisitor extends StateVisitor {
  readonly #layout: Layout;
  readonly #viewPlacements: Placements;
  readonly #seen = new Set<number>();
  readonly #differences: Differences;
  #segment = ABSENT;
  #unknown = '';

  constructor(layout: Layout, type: string) {
    // Separate from the layout's: a server that is only in the external view is not one of the table's servers.
    const placements = new Placements(layout.names);
    super(type, placements);
    this.#layout = layout;
    this.#viewPlacements = placements;
    this.#differences = new Differences(layout, placements);
  }

  protected override segment(bytes: Buffer, start: number, end: number): void {
    this.#segment = this.#layout.segments.lookup(bytes, start, end);
    this.#unknown = this.#segment === ABSENT ? tokenText(bytes, start, end) : '';
  }

  protected override done(placement: number): void {
    const weight = this.#viewPlacements.all[placement]?.weight;
    if (this.#segment === ABSENT) {
      // Removed from the ideal state. It differs as long as a replica is still served.
      if (weight !== 0) this.#differences.add(this.#unknown, ABSENT, placement);
      return;
    }
    this.#seen.add(this.#segment);
    if (weight !== this.#layout.placed(this.#segment).weight) {
      const ideal = this.#layout.placementOf(this.#segment);
      this.#differences.add(this.#layout.segments.name(this.#segment), ideal, placement);
    }
  }

  /** All segments that differ; call it once, at the end. */
  differences(): Differences {
    this.#differences.addMissing(this.#seen);
    return this.#differences;
  }
}
