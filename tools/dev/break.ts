// `make break` and `make mend`: disables a server of the sample cluster of `make run`, or enables all of them, and prints the health report.
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

const TIMEOUT_MS = 60_000;
/** Time for Helix to change the states of the segments. */
const STATE_CHANGE_LIMIT_MS = 30_000;
/** The tables of the sample. The commands refuse any other cluster. */
const SAMPLE_TABLES = ['customers', 'orders', 'types'];
/** It has one replica, so its data is unavailable without its server. */
const FRAGILE_TABLE = 'types';

interface Report {
  readonly status: 'PASS' | 'FAIL' | null;
  readonly summary: { readonly pass: number; readonly fail: number };
  readonly checks: readonly {
    readonly name: string;
    readonly severity: string;
    readonly message: string;
    readonly findings: readonly { readonly entity: string; readonly message: string }[];
  }[];
}

/** Calls of the gateway of `make run` as its administrator. */
export interface SampleGateway {
  /** @throws {Error} with the status and the response, if it is not 2xx */
  readonly call: (method: string, path: string, body?: string) => Promise<unknown>;
  readonly url: string;
}

/** @throws {Error} if no `make run` has used the data folder */
export async function openGateway(env: NodeJS.ProcessEnv, root: string): Promise<SampleGateway> {
  const dataDir = resolve(root, env['DATA_DIR'] || 'data');
  const url = `http://localhost:${env['PORT'] || '8080'}`;
  const token = await readFile(join(dataDir, 'admin-token'), 'utf8').catch(() => {
    throw new Error(`${dataDir} has no admin-token: start \`make run\` first, with the same DATA_DIR`);
  });
  return callerOf(url, { authorization: `Bearer ${token.trim()}` });
}

function callerOf(url: string, headers: Readonly<Record<string, string>>): SampleGateway {
  const call = async (method: string, path: string, body?: string): Promise<unknown> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      headers: { ...headers, ...(body !== undefined && { 'content-type': 'text/plain' }) },
      ...(body !== undefined && { body }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => {
      throw new Error(`${url} does not respond: start \`make run\` first, with the same PORT`, { cause: error });
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text.slice(0, 500)}`);
    return JSON.parse(text);
  };
  return { url, call };
}

/** The servers of the sample. @throws {Error} if the cluster is another one: nothing is changed there */
async function sampleServers({ call }: SampleGateway): Promise<readonly string[]> {
  const { tables } = (await call('GET', '/tables')) as { tables: string[] };
  const { instances } = (await call('GET', '/instances')) as { instances: string[] };
  const servers = instances.filter((name) => name.startsWith('Server_'));
  const isSample =
    tables.toSorted().join() === SAMPLE_TABLES.join() && servers.every((name) => name.startsWith('Server_127.0.0.1_'));
  if (!isSample) throw new Error('this is not the sample cluster of `make run`; nothing was changed');
  return servers;
}

/** Enables the servers of a sample that is about to stop: a disabled one would not start again. */
export async function enableSampleServers(controllerUrl: string): Promise<void> {
  const controller = callerOf(controllerUrl, {});
  await enableServers(controller, await sampleServers(controller));
}

async function enableServers({ call }: SampleGateway, servers: readonly string[]): Promise<void> {
  for (const server of servers) await call('POST', `/instances/${server}/state`, 'enable');
}

async function fragileServer({ call }: SampleGateway): Promise<string> {
  const { OFFLINE = {} } = (await call('GET', `/tables/${FRAGILE_TABLE}/idealstate`)) as {
    OFFLINE?: Record<string, Record<string, string>>;
  };
  const [server] = Object.values(OFFLINE).flatMap((states) => Object.keys(states));
  if (server === undefined) throw new Error(`the table \`${FRAGILE_TABLE}\` has no segment; run \`make clean-data\``);
  return server;
}

/** Runs the checks until the report has the expected status. @returns the last report */
async function runChecks(gateway: SampleGateway, expected: Report['status']): Promise<Report> {
  const deadline = Date.now() + STATE_CHANGE_LIMIT_MS;
  for (;;) {
    await gateway.call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask&wait=true');
    const report = (await gateway.call('GET', '/clusterHealth')) as Report;
    if (report.status === expected || Date.now() > deadline) return report;
  }
}

function describeReport({ summary, checks }: Report, url: string): string {
  const failed = checks.filter((check) => check.findings.length > 0);
  const lines = failed.flatMap(({ name, severity, message, findings: [first] }) => [
    `  FAIL ${name} (${severity}): ${message}`,
    ...(first === undefined ? [] : [`       ${first.entity}: ${first.message}`]),
    `       runbook: ${url}/docs/checks/${name}`,
  ]);
  return [`${summary.pass} checks passed, ${summary.fail} failed`, ...lines, `Dashboard: ${url}/ui/health`].join('\n');
}

/** Disables the server of the table with one replica. @returns the report as text */
export async function breakSample(gateway: SampleGateway): Promise<string> {
  await sampleServers(gateway);
  const server = await fragileServer(gateway);
  await gateway.call('POST', `/instances/${server}/state`, 'disable');
  const report = await runChecks(gateway, 'FAIL');
  return `Disabled \`${server}\`, the only server of the table \`${FRAGILE_TABLE}\`.\n${describeReport(report, gateway.url)}\n\`make mend\` enables it again.`;
}

/** Enables all servers. @returns the report as text */
export async function mendSample(gateway: SampleGateway): Promise<string> {
  await enableServers(gateway, await sampleServers(gateway));
  const report = await runChecks(gateway, 'PASS');
  return `Enabled all servers.\n${describeReport(report, gateway.url)}`;
}

if (import.meta.main) {
  try {
    const gateway = await openGateway(process.env, resolve(import.meta.dirname, '../..'));
    process.stdout.write(`${await (process.argv[2] === 'mend' ? mendSample(gateway) : breakSample(gateway))}\n`);
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exitCode = 1;
  }
}
