import { expect, it } from 'vitest';
import type { StoredObject } from '../../../../../src/results/stores/object/object-client.ts';
import { pairsOf, type StoredPair } from '../../../../../src/results/stores/object/object-pairs.ts';

const MAX_WAITING = 10_000;
const idOf = (number: number): string => `0123abcd-${String(number).padStart(30, '0')}`;
const object = (key: string): StoredObject => ({ key, bytes: 1, modifiedMs: 0 });

async function pairs(...keys: readonly string[]): Promise<StoredPair[]> {
  async function* objects(): AsyncIterable<StoredObject> {
    for (const key of keys) yield object(key);
  }
  const found: StoredPair[] = [];
  for await (const pair of pairsOf(objects())) found.push(pair);
  return found;
}

it('the two objects of a result are paired in any order, and results with one object come last', async () => {
  const [one, two, three, four] = [1, 2, 3, 4].map(idOf) as [string, string, string, string];
  const keys = [
    `${one}.rows`,
    `${three}.json`,
    `${two}.json`,
    `${two}.rows`,
    `${four}.rows`,
    `${one}.parquet`,
    `${one}.json`,
  ];
  expect(await pairs(...keys)).toEqual([
    { requestId: two, record: object(`${two}.json`), rows: object(`${two}.rows`), downloads: [] },
    {
      requestId: one,
      record: object(`${one}.json`),
      rows: object(`${one}.rows`),
      downloads: [object(`${one}.parquet`)],
    },
    { requestId: three, record: object(`${three}.json`), rows: undefined, downloads: [] },
    { requestId: four, record: undefined, rows: object(`${four}.rows`), downloads: [] },
  ]);
});

it('objects of other programs are ignored', async () => {
  expect(await pairs('backup.json', 'backup.rows', `${idOf(1)}.run`, idOf(1), `${idOf(1)}.rows.bak`, '')).toEqual([]);
});

it('the oldest of more than 10,000 objects without the other one does not wait longer', async () => {
  const rows = (count: number): string[] => Array.from({ length: count }, (_, number) => `${idOf(number)}.rows`);
  const [first] = await pairs(...rows(MAX_WAITING), `${idOf(0)}.json`);
  expect([first?.requestId, first?.record?.key, first?.rows?.key]).toEqual([
    idOf(0),
    `${idOf(0)}.json`,
    `${idOf(0)}.rows`,
  ]);
  const found = await pairs(...rows(MAX_WAITING + 1), `${idOf(0)}.json`, `${idOf(1)}.json`);
  expect(found.slice(0, 3).map(({ requestId, record }) => [requestId, record?.key])).toEqual([
    [idOf(0), undefined],
    [idOf(1), undefined],
    [idOf(2), undefined],
  ]);
});
