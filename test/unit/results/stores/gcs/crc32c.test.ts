import { CRC32C } from '@google-cloud/storage';
import { describe, expect, it } from 'vitest';
import { Crc32c } from '../../../../../src/results/stores/gcs/crc32c.ts';

describe('CRC-32C', () => {
  it('matches the test vector of the standard', () => {
    const crc = new Crc32c();
    crc.update(Buffer.from('123456789'));
    expect(Buffer.from(crc.toString(), 'base64').toString('hex')).toBe('e3069283');
  });

  it('equals that of the SDK for any split of the bytes', () => {
    const bytes = Buffer.from(Array.from({ length: 1000 }, (_, i) => (i * 7919) % 256));
    const theirs = new CRC32C();
    theirs.update(bytes);
    for (const cut of [0, 1, 7, 8, 9, 500, 999]) {
      const ours = new Crc32c();
      ours.update(bytes.subarray(0, cut));
      ours.update(bytes.subarray(cut));
      expect(ours.toString()).toBe(theirs.toString());
    }
  });
});
