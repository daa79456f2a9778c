import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WAIT_LIMIT_MS } from '../limits.ts';
import { execute as run } from '../execute.ts';

/** A certificate authority in a folder, made with openssl; EC P-256 keys, so that a whole control plane's worth takes well under a second. */
export class Pki {
  readonly directory: string;

  constructor(directory: string) {
    this.directory = directory;
  }

  path(file: string): string {
    return join(this.directory, file);
  }

  async createAuthority(): Promise<void> {
    await this.#key('ca');
    const extensions = [
      'basicConstraints=critical,CA:TRUE',
      'keyUsage=critical,keyCertSign,cRLSign,digitalSignature',
    ].flatMap((extension) => ['-addext', extension]);
    await this.#openssl(
      'req -x509 -new -key ca.key -subj /CN=test-ca -days 3650 -out ca.crt'.split(' ').concat(extensions),
    );
  }

  /** `<name>.crt` and `<name>.key`, signed by the authority. @param subject relative names in order, such as `[['O', 'group'], ['CN', 'user']]` */
  async issue(name: string, subject: readonly (readonly [string, string])[], extensions: string): Promise<void> {
    await this.#key(name);
    const rdns = subject.map(([type, value]) => `/${type}=${value.replaceAll(/[\\/+]/g, String.raw`\$&`)}`).join('');
    await this.#openssl(['req', '-new', '-utf8', '-key', `${name}.key`, '-subj', rdns, '-out', `${name}.csr`]);
    await writeFile(this.path(`${name}.ext`), extensions);
    const serial = `0x${[...crypto.getRandomValues(new Uint8Array(16))].map((b) => b.toString(16).padStart(2, '0')).join('')}`;
    await this.#openssl(
      `x509 -req -in ${name}.csr -CA ca.crt -CAkey ca.key -set_serial ${serial} -days 3650 -out ${name}.crt -extfile ${name}.ext`.split(
        ' ',
      ),
    );
  }

  /** The key pair that signs service account tokens: `sa.key`, `sa.pub`. */
  async createServiceAccountKeys(): Promise<void> {
    await this.#key('sa');
    await this.#openssl(['ec', '-in', 'sa.key', '-pubout', '-out', 'sa.pub']);
  }

  async base64(file: string): Promise<string> {
    return (await readFile(this.path(file))).toString('base64');
  }

  async #key(name: string): Promise<void> {
    await this.#openssl(['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${name}.key`]);
  }

  async #openssl(args: readonly string[]): Promise<void> {
    await run('openssl', args, { cwd: this.directory, timeout: WAIT_LIMIT_MS });
  }
}
