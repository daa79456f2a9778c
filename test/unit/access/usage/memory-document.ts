import { StoreError } from '../../../../src/store/resource-store.ts';
import type { SharedDocument } from '../../../../src/store/shared-document.ts';

/** A SharedDocument in memory, which counts writes. */
export class MemoryDocument implements SharedDocument {
  text = '';
  writes = 0;
  /** Errors of the next calls, first in first out. */
  readonly failures: Error[] = [];
  /** Called between a read and the write that follows. */
  beforeWrite: (() => void) | undefined;

  async read(): Promise<{ text: string; version: string }> {
    this.#fail();
    return { text: this.text, version: String(this.writes) };
  }

  async write(text: string, version: string): Promise<void> {
    this.#fail();
    const intervene = this.beforeWrite;
    this.beforeWrite = undefined;
    intervene?.();
    if (version !== String(this.writes)) throw new StoreError('conflict', 'changed');
    this.writes++;
    this.text = text;
  }

  /** A write by another process. */
  replace(text: string): void {
    this.text = text;
    this.writes++;
  }

  #fail(): void {
    const failure = this.failures.shift();
    if (failure) throw failure;
  }
}
