import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

const OPTIONS = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=gateway';

/** A new one that signs itself. */
export async function newCertificate(): Promise<Certificate> {
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-front-'));
  try {
    const files = ['-keyout', 'key', '-out', 'cert'];
    await promisify(execFile)('openssl', [...OPTIONS.split(' '), ...files], { cwd: directory });
    const read = (name: string): Promise<string> => readFile(join(directory, name), 'utf8');
    return { key: await read('key'), cert: await read('cert') };
  } finally {
    await rm(directory, { recursive: true });
  }
}
