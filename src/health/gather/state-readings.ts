import { releasePiece } from '../../engine/wire/slabs.ts';
import { JsonScanner } from './json-scanner.ts';
import { Layout } from './layout.ts';
import type { PieceConsumer } from './pieces.ts';
import { ExternalViewVisitor, IdealStateVisitor } from './state-visitors.ts';

/** Ideal states of more bytes (about 50,000 segments) are not kept for comparison: their views are scanned. */
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

  push(piece: Buffer): boolean {
    this.#scanner.push(piece);
    this.#bytes += piece.length;
    if (this.#bytes > MAX_RAW_BYTES) return false;
    this.#raw.push(piece);
    return true;
  }

  end(): Layout {
    this.#scanner.end();
    this.#layout.found = this.#visitor.found;
    if (this.#bytes <= MAX_RAW_BYTES) this.#layout.raw = this.#raw;
    else for (const piece of this.#raw) releasePiece(piece);
    return this.#layout;
  }
}

export interface ViewComparison {
  /** Of all segments that differ. */
  readonly names: string[];
  /** True where there is no view at all. */
  readonly missing: boolean;
}

/**
 * Holds an external view against a layout. Where all is well the engine writes both documents in the same way, byte by byte: while that holds,
 * nothing is scanned, and a comparison of bytes costs next to nothing.
 */
export class ExternalViewReading implements PieceConsumer<ViewComparison> {
  readonly #layout: Layout;
  readonly #visitor: ExternalViewVisitor;
  #scanner: JsonScanner | undefined;
  /** How much of the layout's document was met so far: whole chunks of it, and bytes of the next. */
  #chunk = 0;
  #offset = 0;

  constructor(layout: Layout, type: string) {
    this.#layout = layout;
    this.#visitor = new ExternalViewVisitor(layout, type);
    if (layout.raw.length === 0) this.#scanner = new JsonScanner(this.#visitor);
  }

  push(piece: Buffer): boolean {
    if (this.#scanner !== undefined || !this.#isSame(piece)) this.#scanning().push(piece);
    return false;
  }

  end(): ViewComparison {
    if (this.#scanner === undefined && this.#chunk === this.#layout.raw.length) return { names: [], missing: false };
    this.#scanning().end();
    return { names: this.#visitor.differing(), missing: !this.#visitor.found };
  }

  /** True, and the place moved on, where the document goes on with these very bytes. */
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

  /** The scanner; where there was none yet, one that has seen what was the same so far. */
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
