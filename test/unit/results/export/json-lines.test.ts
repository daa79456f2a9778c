import { describe, expect, it } from 'vitest';
import { jsonLines } from '../../../../src/results/export/json-lines.ts';

async function* split(text: string, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

async function lines(text: string, size: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of jsonLines(split(text, size))) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

// A store's pieces are blocks of the checksums, far longer than the white space between two rows.
describe.each([2, 3, 5, 1000])('rows in pieces of %i bytes', (size) => {
  it('have a line each, without the comma between them', async () => {
    expect(await lines('[1,"a,]["],[2,null],[[3,4],5]', size)).toBe('[1,"a,]["]\n[2,null]\n[[3,4],5]');
  });

  it('keep each byte as one, also white space around the comma', async () => {
    const text = '[1]\r\n ,\t[2]';
    const found = await lines(text, size);
    expect(found.length).toBe(text.length);
    expect(found.split('\n').map((line) => JSON.parse(line))).toEqual([[1], [2]]);
  });
});

it.each(['[1] [2]', '[1]\n[2]', '[1];[2]'])('rows without a comma between them are damaged: %j', async (text) => {
  await expect(lines(text, 1000)).rejects.toThrow();
});
