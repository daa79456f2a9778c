import type { Layout } from './layout.ts';

/** Segments of all kept layouts; each takes about 150 bytes. */
const MAX_SEGMENTS = 500_000;
/** Bytes of all kept documents of ideal states. */
const MAX_DOCUMENT_BYTES = 32 * 1024 * 1024;

/**
 * The layouts of the tables that are being read. Beyond its limits it keeps none: the ideal state is read again when it is needed, so
 * that a hanging endpoint does not fill the memory with the tables that wait for it.
 */
export class Layouts<T extends object> {
  readonly #layouts = new Map<T, Layout>();
  #segments = 0;
  #documentBytes = 0;

  keep(table: T, layout: Layout): void {
    if (this.#segments + layout.size > MAX_SEGMENTS) return;
    this.#layouts.set(table, layout);
    this.#segments += layout.size;
    const bytes = layout.documentBytes;
    if (this.#documentBytes + bytes > MAX_DOCUMENT_BYTES) layout.releaseDocument();
    else this.#documentBytes += bytes;
  }

  /** Whether tables should be completed before others are begun, so that all layouts that are needed can be kept. */
  get isHalfFull(): boolean {
    return this.#segments > MAX_SEGMENTS / 2;
  }

  get(table: T): Layout | undefined {
    return this.#layouts.get(table);
  }

  /** Frees the document after the last comparison with it. */
  releaseDocument(table: T): void {
    const layout = this.#layouts.get(table);
    if (layout === undefined) return;
    this.#documentBytes -= layout.documentBytes;
    layout.releaseDocument();
  }

  release(table: T): void {
    this.releaseDocument(table);
    this.#segments -= this.#layouts.get(table)?.size ?? 0;
    this.#layouts.delete(table);
  }
}
