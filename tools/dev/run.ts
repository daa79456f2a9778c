// `make run`: starts a sample Pinot cluster (unless OLAP_CONTROLLER is set) and `olap-warden standalone`, until Ctrl-C.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { constants, copyFile, mkdir, open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { dirname, join, relative, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startCluster, type RunningCluster } from '../pinot/cluster.ts';
import { assignPools, withReplicaGroups } from '../pinot/pools.ts';
import { loadSampleTables } from '../pinot/tables.ts';
import { enableSampleServers } from './break.ts';
import { requireAll } from './run-requirements.ts';
import { readSettings, type Settings } from './run-settings.ts';
import { welcome, type WelcomeOptions } from './welcome.ts';

const READY_LIMIT_MS = 120_000;
const REPORT_LIMIT_MS = 30_000;
const STOP_LIMIT_MS = 15_000;
const LOG_LINES_SHOWN = 10;
const root = resolve(import.meta.dirname, '../..');
const started = Date.now();

function say(message: string): void {
  process.stderr.write(`[${((Date.now() - started) / 1_000).toFixed(1).padStart(5)} s] ${message}\n`);
}

async function startSample(settings: Settings, signal: AbortSignal): Promise<RunningCluster> {
  say('starting a sample Pinot cluster (one JVM with ZooKeeper, a controller, 2 brokers and 3 servers)');
  const directory = join(settings.dataDir, 'pinot');
  const cluster = await startCluster({ directory, brokers: 2, servers: 3, onProgress: say, signal });
  try {
    await assignPools(cluster.controllerUrl);
    await loadSampleTables(cluster, say, undefined, withReplicaGroups);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}

/** The thresholds of the checks are for production clusters; the sample has its own, unless the data folder has a report already. */
async function writeSampleReport({ dataDir }: Settings): Promise<void> {
  const folder = join(dataDir, 'clusterhealthreports');
  await mkdir(folder, { recursive: true });
  const sample = join(import.meta.dirname, 'sample-health.yaml');
  await copyFile(sample, join(folder, 'cluster.yaml'), constants.COPYFILE_EXCL).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}

/** The log of olap-warden of this start; that of the start before gets the suffix `.1`. */
const logFileOf = ({ dataDir }: Settings): string => join(dataDir, 'log/olap-warden.log');

async function openLog(file: string): Promise<FileHandle> {
  await mkdir(dirname(file), { recursive: true });
  try {
    await rename(file, `${file}.1`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error; // the first start
  }
  return open(file, 'w');
}

async function startWarden(settings: Settings, controllerUrl: string): Promise<ChildProcess> {
  await using log = await openLog(logFileOf(settings));
  return spawn(
    process.execPath,
    ['--import', join(import.meta.dirname, 'end-with-parent.ts'), join(root, 'src/main.ts'), 'standalone'],
    {
      cwd: root,
      env: {
        ...process.env,
        PORT: String(settings.port),
        METRICS_PORT: String(settings.metricsPort),
        DATA_DIR: settings.dataDir,
        OLAP_CONTROLLER: controllerUrl,
      },
      stdio: ['pipe', log.fd, log.fd],
      detached: true,
    },
  );
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false; // not ready yet; the caller has a deadline
  }
}

/** The last lines of a log, and where it is. */
async function logEnd(file: string): Promise<string> {
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  return [...lines.slice(-LOG_LINES_SHOWN), `(${shortest(file)})`].join('\n');
}

async function awaitReady(
  warden: ChildProcess,
  metricsUrl: string,
  logFile: string,
  signal: AbortSignal,
): Promise<void> {
  const deadline = Date.now() + READY_LIMIT_MS;
  while (!(await answers(`${metricsUrl}/readyz`))) {
    signal.throwIfAborted();
    if (warden.exitCode !== null || warden.signalCode !== null) {
      throw new Error(
        `olap-warden exited with ${warden.signalCode ?? `exit code ${warden.exitCode}`}:\n${await logEnd(logFile)}`,
      );
    }
    if (Date.now() > deadline) throw new Error(`${metricsUrl}/readyz did not respond with 200 within 120 s`);
    await delay(100);
  }
}

/** Waits for the first health report, up to a limit: on a large cluster it may take longer. */
async function awaitFirstReport(url: string, tokenFile: string, signal: AbortSignal): Promise<void> {
  say('waiting for the first health report');
  const headers = { authorization: `Bearer ${(await readFile(tokenFile, 'utf8')).trim()}` };
  const deadline = Date.now() + REPORT_LIMIT_MS;
  while (Date.now() < deadline && !signal.aborted) {
    const answer = await fetch(`${url}/clusterHealth`, { headers, signal: AbortSignal.timeout(5_000) });
    const body = await answer.text();
    // 503 is possible while a busy machine starts.
    if (!answer.ok && answer.status !== 503) throw new Error(`GET ${url}/clusterHealth: ${answer.status} ${body}`);
    if (answer.ok && (JSON.parse(body) as { runTimestamp: number | null }).runTimestamp !== null) return;
    await delay(200);
  }
}

/** The path relative to the working directory where it is below it. */
function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path);
  return fromHere.startsWith('..') ? path : fromHere;
}

async function tableToShow(settings: Settings, controllerUrl: string): Promise<WelcomeOptions['table']> {
  if (settings.controller === undefined) return { name: 'orders', orderBy: 'orderedAt' };
  try {
    const answer = await fetch(`${controllerUrl}/tables`, { signal: AbortSignal.timeout(5_000) });
    const name = ((await answer.json()) as { tables: string[] }).tables[0];
    return name === undefined ? undefined : { name };
  } catch (error) {
    const { cause, message } = error as Error;
    say(`failed to list the tables of ${controllerUrl}: ${cause instanceof Error ? cause.message : message}`);
    return undefined;
  }
}

async function stopWarden(warden: ChildProcess): Promise<void> {
  if (warden.exitCode !== null || warden.signalCode !== null) return;
  const exited = once(warden, 'exit');
  warden.kill('SIGTERM');
  const timer = new AbortController();
  const overdue = delay(STOP_LIMIT_MS, true, { signal: timer.signal }).catch(() => false);
  if (await Promise.race([exited.then(() => false), overdue])) warden.kill('SIGKILL');
  timer.abort();
  await exited;
}

/** Aborts on SIGINT, SIGTERM and SIGHUP, and when the parent process has exited. */
function endSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => controller.abort(name));
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) controller.abort('the parent process has exited');
  }, 500).unref();
  return controller.signal;
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((done) => {
    if (signal.aborted) done();
    else signal.addEventListener('abort', () => done(), { once: true });
  });
}

async function serve(settings: Settings, controllerUrl: string, signal: AbortSignal, gone: Promise<unknown>) {
  say('starting olap-warden');
  const warden = await startWarden(settings, controllerUrl);
  const exited = once(warden, 'exit');
  try {
    const url = `http://localhost:${settings.port}`;
    const metricsUrl = `http://localhost:${settings.metricsPort}`;
    await awaitReady(warden, metricsUrl, logFileOf(settings), signal);
    const table = await tableToShow(settings, controllerUrl);
    await awaitFirstReport(url, join(settings.dataDir, 'admin-token'), signal);
    const sample = settings.controller === undefined;
    const tokenFile = shortest(join(settings.dataDir, 'admin-token'));
    process.stdout.write(
      welcome({ url, metricsUrl, tokenFile, logFile: shortest(logFileOf(settings)), controllerUrl, table, sample }),
    );
    const first = await Promise.race([
      aborted(signal),
      exited.then(async () => `olap-warden exited unexpectedly:\n${await logEnd(logFileOf(settings))}`),
      gone.then(() => 'Pinot exited unexpectedly'),
    ]);
    if (typeof first === 'string') throw new Error(first);
  } finally {
    say('stopping');
    await stopWarden(warden);
  }
}

async function stopSample(cluster: RunningCluster): Promise<void> {
  // Pinot waits for minutes when a disabled server starts.
  await enableSampleServers(cluster.controllerUrl).catch((error: unknown) =>
    say(`the servers of the sample could not be enabled: ${String(error)}`),
  );
  await cluster.stop();
}

async function run(signal: AbortSignal): Promise<void> {
  const settings = readSettings(process.env, root);
  await requireAll(settings); // again: minutes may have passed since `make` has checked
  const cluster = settings.controller === undefined ? await startSample(settings, signal) : undefined;
  try {
    if (cluster !== undefined) await writeSampleReport(settings);
    const controllerUrl = cluster?.controllerUrl ?? settings.controller ?? '';
    await serve(settings, controllerUrl, signal, cluster?.ended ?? new Promise(() => undefined));
  } finally {
    if (cluster !== undefined) await stopSample(cluster);
  }
}

const signal = endSignal();
try {
  await run(signal);
} catch (error) {
  if (!signal.aborted) {
    say(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 1;
  }
}
process.exit();
