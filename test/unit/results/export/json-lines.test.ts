import { describe, expect, it } from 'vitest';
import { jsonLines, MAX_SPACE_BYTES } from '../../../../src/results/export/json-lines.ts';

async function* split(text: string, size: number): AsyncIterable<Uint8Array> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size));
}

async function lines(text: string, size: number): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of jsonLines(split(text, size))) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

describe.each([1, 2, 3, 5, 1000])('rows in pieces of %i bytes', (size) => {
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

it('line breaks are spaces wherever a piece begins', async () => {
  const pieces = ['\n[1,\r', '\r2,\n\n3]\n', '\n,\n[\r4]\n'];
  async function* rows(): AsyncIterable<Uint8Array> {
    for (const piece of pieces) yield Buffer.from(piece);
  }
  const found: string[] = [];
  for await (const piece of jsonLines(rows())) found.push(piece.toString());
  expect(found).toEqual([' [1, ', ' 2,  3] ', ' \n [ 4] ']);
});

it('the bytes of the store stay as they are', async () => {
  const stored = Buffer.from('[1],\n[2]');
  async function* rows(): AsyncIterable<Uint8Array> {
    yield stored;
  }
  for await (const line of jsonLines(rows())) expect(line.toString()).toBe('[1]\n [2]');
  expect(stored.toString()).toBe('[1],\n[2]');
});

describe('white space between rows', () => {
  const BLOCK = 64 * 1024;

  it.each([
    ['before the comma', (space: string) => `[1]${space},[2]`],
    ['after the comma', (space: string) => `[1],${space}[2]`],
  ])('may be longer than a stored block: %s', async (_where, text) => {
    const rows = text(' '.repeat(4 * BLOCK));
    expect(await lines(rows, BLOCK)).toBe(rows.replace(',', '\n'));
  });

  it('is bounded, because it is held back', async () => {
    const spaces = (count: number): string => `[1],${' '.repeat(count)}[2]`;
    expect(await lines(spaces(MAX_SPACE_BYTES), BLOCK)).toContain('\n');
    await expect(lines(spaces(MAX_SPACE_BYTES + 2 * BLOCK), BLOCK)).rejects.toMatchObject({ code: 'damaged' });
  });

  it('may have as many bytes as are held back, not more', async () => {
    const rows = (pieces: readonly string[]): Promise<string> => {
      async function* bytes(): AsyncIterable<Uint8Array> {
        for (const piece of pieces) yield Buffer.from(piece);
      }
      return (async () => {
        let all = '';
        for await (const piece of jsonLines(bytes())) all += piece.toString();
        return all;
      })();
    };
    const block = ' '.repeat(MAX_SPACE_BYTES / 2);
    expect((await rows(['[1],', block, block, '[2]'])) === `[1]\n${block}${block}[2]`).toBe(true);
    const found = await rows(['[1]', block, '  ,', block, block, '[2]']);
    expect(found === `[1]${block}  \n${block}${block}[2]`).toBe(true);
    await expect(rows(['[1],', block, block, ' ', '[2]'])).rejects.toMatchObject({ code: 'damaged' });
  });

  it('is not confused with that in a text', async () => {
    const rows = `["${' '.repeat(2 * MAX_SPACE_BYTES)}"],["${' '.repeat(3 * BLOCK)},"],[1]`;
    expect(await lines(rows, BLOCK)).toBe(rows.replace('],[', ']\n[').replace('"],[1', '"]\n[1'));
  });
});
