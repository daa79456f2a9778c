import { readdir, readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { type PreparedResponse, prepareResponse } from '../server/prepared-response.ts';

/** File names carry a hash of their content. */
const CACHE_CONTROL = 'public, max-age=31536000, immutable';

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** The suffixes of the variants that the build makes of each file. */
const SUFFIXES = { br: '.br', gzip: '.gz' } as const;

/** Reads the files of the dashboard, about a megabyte, with the compressed variants that the build made of them. @returns responses by file name */
export async function readAssets(folder: string): Promise<ReadonlyMap<string, PreparedResponse>> {
  const names = await readdir(folder);
  const known = new Set(names);
  const compressed = new Set<string>(Object.values(SUFFIXES));
  const assets = names.filter((name) => !compressed.has(extname(name)));
  const read = async (name: string): Promise<Buffer> => readFile(join(folder, name));
  return new Map(
    await Promise.all(
      assets.map(async (name) => {
        const variants: { br?: Buffer; gzip?: Buffer } = {};
        for (const coding of ['br', 'gzip'] as const) {
          const variant = name + SUFFIXES[coding];
          if (known.has(variant)) variants[coding] = await read(variant);
        }
        const type = TYPES[extname(name)] ?? 'application/octet-stream';
        const headers = { 'content-type': type, 'cache-control': CACHE_CONTROL };
        return [name, await prepareResponse(await read(name), headers, variants)] as const;
      }),
    ),
  );
}
