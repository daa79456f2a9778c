import { describe, expect, it } from 'vitest';
import { StoreError } from '../../src/store/resource-store.ts';
import type { SharedDocument } from '../../src/store/shared-document.ts';

const { signal } = new AbortController();

/** What every SharedDocument must do. @param open returns two connections to one new document */
export function sharedDocumentContract(
  name: string,
  open: () => Promise<readonly [SharedDocument, SharedDocument]>,
): void {
  describe(`${name} as a shared document`, () => {
    it('is empty at first, and returns what was written last, by any connection', async () => {
      const [one, other] = await open();
      const empty = await one.read(signal);
      expect(empty.text).toBe('');
      await one.write('first', empty.version, signal);
      const read = await other.read(signal);
      expect(read.text).toBe('first');
      await other.write('{"second": "ä"}', read.version, signal);
      expect((await one.read(signal)).text).toBe('{"second": "ä"}');
    });

    it('rejects a write that is based on an older text', async () => {
      const [one, other] = await open();
      const { version } = await one.read(signal);
      await other.write('theirs', (await other.read(signal)).version, signal);
      const failed = one.write('mine', version, signal).catch((error: unknown) => error);
      expect(await failed).toSatisfy((error: unknown) => error instanceof StoreError && error.code === 'conflict');
      expect((await one.read(signal)).text).toBe('theirs');
    });

    it('holds 600 KB', async () => {
      const [one, other] = await open();
      const text = 'x'.repeat(600_000);
      await one.write(text, (await one.read(signal)).version, signal);
      expect((await other.read(signal)).text).toBe(text);
    });
  });
}
