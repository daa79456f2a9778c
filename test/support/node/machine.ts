import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { delimiter, join } from 'node:path';
import { cacheFolder } from '../../../tools/cache-folder.ts';
import { WAIT_LIMIT_MS } from '../limits.ts';

const MIN_MEMORY_GB = 6;
const CONTROLLERS = ['cpu', 'cpuacct', 'cpuset', 'memory', 'devices', 'freezer', 'blkio', 'pids'];
const COMMANDS = ['bash', 'awk', 'unshare', 'nsenter', 'mount', 'openssl', 'curl'];
/** Packages that `tools/install.sh node-parts` installs from Debian, as root. */
const INSTALLED = { runc: 'runc', nft: 'nftables', conntrack: 'conntrack', ip: 'iproute2' };

/**
 * Why startNode() cannot work on this machine, for tests to be skipped with; undefined when it can.
 * Takes some milliseconds; nothing is left behind.
 */
export function canHoldNode(): string | undefined {
  if (process.platform !== 'linux') return `a node needs Linux, this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'a node in namespaces of its own needs root';
  const memory = totalmem() / 1e9;
  if (memory < MIN_MEMORY_GB)
    return `a node needs ${MIN_MEMORY_GB} GB of memory, this machine has ${memory.toFixed(1)}`;
  return missingCgroups() ?? missingCommands() ?? forbiddenNamespaces();
}

function missingCgroups(): string | undefined {
  const mounts = readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .filter((fields) => fields[2] === 'cgroup');
  const mounted = new Set(mounts.flatMap((fields) => (fields[3] ?? '').split(',')));
  const missing = CONTROLLERS.filter((controller) => !mounted.has(controller));
  if (missing.length === CONTROLLERS.length) {
    return 'the node is made for cgroup v1 hierarchies, and this machine mounts none: use a cluster of `kind`';
  }
  if (missing.length > 0) return `the cgroup v1 controllers ${missing.join(', ')} are not mounted`;
  const readOnly = mounts.find((fields) => !isWritable(fields[1] ?? ''));
  return readOnly === undefined ? undefined : `cgroups cannot be made in ${readOnly[1]}`;
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function missingCommands(): string | undefined {
  const missing = COMMANDS.filter((command) => !isCommand(command));
  if (missing.length > 0) return `a node needs the commands ${missing.join(', ')}`;
  if (!isBuilt() && !isCommand('go'))
    return 'the parts of a node are not built, and there is no `go` to build them with';
  if (isCommand('apt-get')) return undefined;
  const packages = Object.entries(INSTALLED).filter(([command]) => !isCommand(command));
  if (packages.length === 0) return undefined;
  return `a node needs the packages ${packages.map(([, name]) => name).join(', ')}`;
}

/** Whether `tools/install.sh` has built parts before; when their pins have changed since, it says itself that it needs Go. */
function isBuilt(): boolean {
  const cache = cacheFolder();
  return (
    existsSync(cache) &&
    readdirSync(cache).some((name) => name.startsWith('node-parts-') && !/\.(part|lock)$/.test(name))
  );
}

function isCommand(name: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  return folders.some((folder) => existsSync(join(folder, name)));
}

function forbiddenNamespaces(): string | undefined {
  const namespaces = ['--cgroup', '--net', '--mount', '--uts', '--ipc', '--pid', '--fork', '--mount-proc'];
  try {
    // Containers without all privileges cannot mount sysfs, even if namespaces are allowed.
    execFileSync('unshare', [...namespaces, 'mount', '-t', 'sysfs', 'sysfs', '/sys'], {
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: WAIT_LIMIT_MS,
    });
    return undefined;
  } catch (error) {
    return `namespaces cannot be made: ${String((error as { stderr?: Buffer }).stderr ?? error).trim()}`;
  }
}
