import { describe, expect, it } from 'vitest';
import { PartBuffer } from '../../../../../src/results/stores/object/part-buffer.ts';

describe('the part buffer', () => {
  it('splits bytes into parts of one size and keeps the rest', () => {
    const buffer = new PartBuffer(4);
    expect(buffer.push(Buffer.from('abcdefghij')).map(String)).toEqual(['abcd', 'efgh']);
    expect(buffer.length).toBe(2);
    expect(String(buffer.take())).toBe('ij');
    expect(buffer.length).toBe(0);
  });

  it('fills a part with the beginnings of several pieces', () => {
    const buffer = new PartBuffer(4);
    const parts = ['a', 'bcdefghij', '', 'kl', 'mn', 'opq'].flatMap((text) =>
      buffer.push(Buffer.from(text)).map(String),
    );
    expect(parts).toEqual(['abcd', 'efgh', 'ijkl', 'mnop']);
    expect([buffer.length, String(buffer.take())]).toEqual([1, 'q']);
  });

  it('has no bytes at first', () => {
    expect([new PartBuffer(4).length, new PartBuffer(4).take().length]).toEqual([0, 0]);
  });

  it('reuses only parts that were returned', () => {
    const buffer = new PartBuffer(4);
    const [first, second] = buffer.push(Buffer.from('abcdefgh')) as [Buffer, Buffer];
    buffer.give(first);
    const [third, fourth] = buffer.push(Buffer.from('ijklmnop')) as [Buffer, Buffer];
    expect(third.buffer).toBe(first.buffer);
    expect([second, third, fourth].map(String)).toEqual(['efgh', 'ijkl', 'mnop']);
  });
});
