import { readdir, readFile, readlink } from 'node:fs/promises';

/** The process that listens on a TCP port of this machine; undefined if there is none, or if it belongs to another user. */
export async function listenerOf(port: number): Promise<number | undefined> {
  const inode = (await inodeOf(port, 'tcp')) ?? (await inodeOf(port, 'tcp6'));
  if (inode === undefined) return undefined;
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
    for (const descriptor of descriptors) {
      const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
      if (target === `socket:[${inode}]`) return Number(pid);
    }
  }
  return undefined;
}

const LISTENING = '0A';

async function inodeOf(port: number, table: string): Promise<string | undefined> {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const lines = (await readFile(`/proc/net/${table}`, 'utf8')).split('\n').slice(1);
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return fields.find(([, local, , state]) => local?.endsWith(wanted) && state === LISTENING)?.[9];
}
