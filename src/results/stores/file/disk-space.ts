import { statfs } from 'node:fs/promises';
import type { StoreSpace } from '../../result-store.ts';

/** The space of the disk of a folder. */
export class DiskSpace {
  readonly #folder: string;
  #last: StoreSpace | undefined;
  #isReading = false;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** The value that was read last; undefined before that, and where it cannot be read. It is read anew in the background: a disk that stands still must not hold up the caller. */
  get last(): StoreSpace | undefined {
    if (!this.#isReading) void this.#read();
    return this.#last;
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const { bsize, blocks, bavail } = await statfs(this.#folder);
      this.#last = { capacityBytes: bsize * blocks, freeBytes: bsize * bavail };
    } catch {
      this.#last = undefined;
    } finally {
      this.#isReading = false;
    }
  }
}
