import type { SegmentFiles } from '../../snapshot.ts';
import { MAX_NAMES } from '../placement/layout.ts';

/** The first byte of `http` and `https`. */
const H = 0x68;
const [NONE, EMPTY, SERVED, ELSEWHERE] = [0, 1, 2, 3] as const;

/** Collects what the metadata of a table's segments tells about their files, one segment after the other. */
export class FileReading {
  #kind: number = NONE;
  #elsewhere = 0;
  #withoutUrl = 0;
  readonly #named: number[] = [];
  #oldest = -1;
  #oldestAt = Number.POSITIVE_INFINITY;
  #newest = -1;
  #newestAt = Number.NEGATIVE_INFINITY;

  /** The download URL of the current segment, as a JSON token without its quotes. */
  url(bytes: Buffer, start: number, end: number): void {
    // A controller with a local deep store writes its own URL; a store that it only writes to has a scheme of its own.
    if (start === end) this.#kind = EMPTY;
    else this.#kind = bytes[start] === H && bytes[start + 1] === 0x74 ? SERVED : ELSEWHERE;
  }

  /** Counts the current segment, which is completed. @param createdAt milliseconds since the epoch; NaN if it is unknown */
  record(segment: number, createdAt: number): void {
    if (this.#kind === ELSEWHERE) this.#elsewhere += 1;
    if (this.#kind === EMPTY) {
      this.#withoutUrl += 1;
      if (this.#named.length < MAX_NAMES) this.#named.push(segment);
    }
    if (this.#kind !== SERVED) return;
    if (createdAt < this.#oldestAt || this.#oldest < 0) [this.#oldest, this.#oldestAt] = [segment, createdAt];
    if (createdAt >= this.#newestAt || this.#newest < 0) [this.#newest, this.#newestAt] = [segment, createdAt];
  }

  /** Begins the next segment. */
  next(): void {
    this.#kind = NONE;
  }

  summary(name: (segment: number) => string): SegmentFiles {
    const served = new Set([this.#oldest, this.#newest].filter((segment) => segment >= 0));
    return {
      withoutUrl: { count: this.#withoutUrl, names: this.#named.map(name) },
      served: [...served].map(name),
      elsewhere: this.#elsewhere,
    };
  }
}
