/** Where a row begins in a CSV download. */
interface Point {
  readonly rows: number;
  readonly bytes: number;
}

/** Bytes between two points: less is converted again where a download resumes. */
const SPACING_BYTES = 1024 * 1024;
const MAX_POINTS = 4096;

/**
 * What is known about the bytes of one CSV download, so that a part of it can be read without converting all rows before it. Stored rows never change, so
 * every conversion gives the same bytes.
 */
export class CsvLayout {
  /** Bytes of the whole download; undefined until all rows were converted once. */
  length: number | undefined;
  readonly #points: Point[];
  #last: Point;

  /** @param headerBytes bytes of the header row */
  constructor(headerBytes: number) {
    this.#last = { rows: 0, bytes: headerBytes };
    this.#points = [this.#last];
  }

  /** A batch of rows ends here. */
  add(rows: number, bytes: number): void {
    if (bytes < this.#last.bytes + SPACING_BYTES || this.#points.length === MAX_POINTS) return;
    this.#last = { rows, bytes };
    this.#points.push(this.#last);
  }

  /** The last known row that begins at or before a byte; the first row for the bytes of the header. */
  before(byte: number): Point {
    return this.#points.findLast(({ bytes }) => bytes <= byte) ?? (this.#points[0] as Point);
  }
}
