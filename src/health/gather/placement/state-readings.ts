import { JsonScanner } from '../calls/json-scanner.ts';
import { Differences } from './differences.ts';
import { Layout } from './layout.ts';
import type { PieceConsumer } from '../calls/pieces.ts';
import { ExternalViewVisitor, IdealStateVisitor } from './state-visitors.ts';

/** Larger ideal states (above about 50,000 segments) are not kept for comparison; their external views are scanned. */
const MAX_RAW_BYTES = 8 * 1024 * 1024;

/** Reads an ideal state into a new layout. */
export class IdealStateReading implements PieceConsumer<Layout> {
  readonly #layout = new Layout();
  readonly #visitor: IdealStateVisitor;
  readonly #scanner: JsonScanner;
  readonly #raw: Buffer[] = [];
  #bytes = 0;

  constructor(type: string) {
    this.#visitor = new IdealStateVisitor(this.#layout, type);
    this.#scanner = new JsonScanner(this.#visitor);
  }

  push(piece: Buffer): void {
    this.#scanner.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes <= MAX_RAW_BYTES) this.#raw.push(piece);
    else this.#raw.length = 0;
  }

  end(): Layout {
    this.#scanner.end();
    this.#layout.found = this.#visitor.found;
    this.#layout.raw = this.#raw;
    return this.#layout;
  }
}

export interface ViewComparison {
  /** All segments that differ. */
  readonly differences: Differences;
  /** True if there is no external view. */
  readonly missing: boolean;
}

/** The comparison for a table that has no external view. */
export function withoutView(layout: Layout): ViewComparison {
  const differences = new Differences(layout, layout.placements);
  differences.addMissing(new Set());
  return { differences, missing: true };
}

/**
 * Compares an external view with a layout. In a healthy table both documents have the same bytes, so bytes are compared until they differ, and
 * only then is the view scanned.
 */
export class ExternalViewReading implements PieceConsumer<ViewComparison> {
  readonly #layout: Layout;
  readonly #visitor: ExternalViewVisitor;
  #scanner: JsonScanner | undefined;
  /** The position in the layout's document up to which the bytes are equal: whole chunks, and bytes of the next one. */
  #chunk = 0;
  #offset = 0;

  constructor(layout: Layout, type: string) {
    this.#layout = layout;
    this.#visitor = new ExternalViewVisitor(layout, type);
    if (layout.raw.length === 0) this.#scanner = new JsonScanner(this.#visitor);
  }

  push(piece: Buffer): void {
    if (this.#scanner !== undefined || !this.#isSame(piece)) this.#scanning().push(piece);
  }

  end(): ViewComparison {
    if (this.#scanner === undefined && this.#chunk === this.#layout.raw.length) {
      return { differences: new Differences(this.#layout, this.#layout.placements), missing: false };
    }
    this.#scanning().end();
    return { differences: this.#visitor.differences(), missing: !this.#visitor.found };
  }

  /** Whether the document continues with these bytes; if so, advances the position. */
  #isSame(bytes: Buffer): boolean {
    const { raw } = this.#layout;
    let chunk = this.#chunk;
    let offset = this.#offset;
    let at = 0;
    while (at < bytes.length) {
      const expected = raw[chunk];
      if (expected === undefined) return false;
      const length = Math.min(expected.length - offset, bytes.length - at);
      if (expected.compare(bytes, at, at + length, offset, offset + length) !== 0) return false;
      at += length;
      offset += length;
      if (offset === expected.length) {
        chunk += 1;
        offset = 0;
      }
    }
    this.#chunk = chunk;
    this.#offset = offset;
    return true;
  }

  /** The scanner; a new one first scans the bytes that were equal so far. */
  #scanning(): JsonScanner {
    if (this.#scanner !== undefined) return this.#scanner;
    const scanner = new JsonScanner(this.#visitor);
    const { raw } = this.#layout;
    for (const chunk of raw.slice(0, this.#chunk)) scanner.push(chunk);
    if (this.#offset > 0) scanner.push((raw[this.#chunk] as Buffer).subarray(0, this.#offset));
    this.#scanner = scanner;
    return scanner;
  }
}
