import { writeFile, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { installed } from '../../tools/pinot/jvm.ts';
import { freePorts, Processes } from './kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface FiringAlert {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly state: 'pending' | 'firing';
}

/** A real Prometheus that scrapes every second, on a free port of 127.0.0.1. */
export interface Prometheus {
  readonly url: string;
  /** The instant value of an expression. @throws {Error} with the message of Prometheus if the expression is invalid */
  query(expression: string): Promise<readonly Sample[]>;
  alerts(): Promise<readonly FiringAlert[]>;
  stop(): Promise<void>;
}

/** @param targets `host:port` of what is scraped; @param rules content of a file of rules */
export async function startPrometheus(targets: readonly string[], rules: string): Promise<Prometheus> {
  const folder = await installed('prometheus');
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-prometheus-'));
  await writeFile(join(directory, 'rules.yaml'), rules);
  await writeFile(
    join(directory, 'prometheus.yaml'),
    stringify({
      global: { scrape_interval: '1s', scrape_timeout: '1s', evaluation_interval: '1s' },
      rule_files: [join(directory, 'rules.yaml')],
      scrape_configs: [{ job_name: 'olap-warden', static_configs: [{ targets }] }],
    }),
  );
  const [port] = await freePorts(1);
  const url = `http://127.0.0.1:${port}`;
  const processes = new Processes(directory);
  processes.start('prometheus', join(folder, 'prometheus'), [
    `--config.file=${join(directory, 'prometheus.yaml')}`,
    `--storage.tsdb.path=${join(directory, 'data')}`,
    `--web.listen-address=127.0.0.1:${port}`,
    '--log.level=warn',
  ]);
  await processes.waitUntil('prometheus', () => answers(`${url}/-/ready`));
  return {
    url,
    async query(expression) {
      const { result } = await ask<{ result: Sample[] }>(`${url}/api/v1/query?query=${encodeURIComponent(expression)}`);
      return result;
    },
    alerts: async () => (await ask<{ alerts: FiringAlert[] }>(`${url}/api/v1/alerts`)).alerts,
    stop: () => processes.stop(),
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(10_000) })).ok;
  } catch {
    return false;
  }
}

async function ask<T>(url: string): Promise<T> {
  const answer = await fetch(url, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  const body = (await answer.json()) as { data: T; error?: string };
  if (!answer.ok) throw new Error(body.error ?? `Prometheus answered ${answer.status}`);
  return body.data;
}
