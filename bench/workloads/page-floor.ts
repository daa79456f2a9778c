// The minimal cost of a page in Node: a bare node:http server that reads the bytes of a file into a reused buffer and writes them. No
// credential, no check, no record, no look-up of a page. It runs in a separate process. Arguments: a folder. Prints its port; ends with its standard input.
import { open, read, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';

const [folder = ''] = process.argv.slice(2);
const files = new Map<string, Promise<{ descriptor: number; size: number }>>();
const free: Buffer[] = [];

async function openOnce(path: string): Promise<{ descriptor: number; size: number }> {
  return { descriptor: await promisify(open)(path, 'r'), size: statSync(path).size };
}

const server = createServer((request, response) => {
  const path = join(folder, request.url ?? '');
  const file = files.get(path) ?? openOnce(path);
  files.set(path, file);
  void file.then(({ descriptor, size }) => {
    const kept = free.findIndex((buffer) => buffer.length === size);
    const buffer = free.splice(kept, kept < 0 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(size);
    read(descriptor, buffer, 0, size, 0, (error) => {
      if (error) return response.destroy(error);
      response.writeHead(200, ['content-type', 'application/json', 'content-length', String(size)]);
      return response.end(buffer, () => free.push(buffer));
    });
  });
});
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.stdin.on('end', () => process.exit(0)).resume();
