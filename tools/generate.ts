// Writes all generated files (`make generate`). With --check it lists the files that are out of date and exits 1 (`make verify`).
// To add a generator, add a function in tools/generate/ and an entry in GENERATORS.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { generateAlerts } from './generate/alerts.ts';
import { generateApiTypes } from './generate/api-types.ts';
import { generateArgoHealth } from './generate/argo-health.ts';
import { generateAuditSchema } from './generate/audit-schema.ts';
import { generateChartCrds, generateChartManifests, generateChartReadme } from './generate/chart-files.ts';
import { generateConfiguration } from './generate/configuration.ts';
import { generateCheckIndex } from './generate/check-index.ts';
import { generateCrds } from './generate/crds.ts';
import { generateCrdsChart } from './generate/crds-chart.ts';
import { generateDashboard } from './generate/dashboard.ts';
import { generateFieldReference } from './generate/field-reference.ts';
import { generateMetrics } from './generate/metrics.ts';
import { generateOpenApi } from './generate/openapi.ts';
import { generatePerformance } from './generate/performance.ts';
import { generateQueryOptions } from './generate/query-options.ts';
import { generateValuesSchema } from './generate/values-schema.ts';
import type { Generator } from './generate/generator.ts';
import { generateQuoteKernel, generateRowKernel } from './generate/row-kernel.ts';

const GENERATORS: readonly Generator[] = [
  generateAlerts,
  generateApiTypes,
  generateArgoHealth,
  generateAuditSchema,
  generateChartCrds,
  generateChartManifests,
  generateChartReadme,
  generateConfiguration,
  generateCheckIndex,
  generateCrds,
  generateCrdsChart,
  generateDashboard,
  generateFieldReference,
  generateMetrics,
  generateOpenApi,
  generatePerformance,
  generateQueryOptions,
  generateQuoteKernel,
  generateRowKernel,
  generateValuesSchema,
];

async function current(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** @returns paths of the files that were out of date */
async function generate(root: string, write: boolean): Promise<string[]> {
  const stale: string[] = [];
  for (const generator of GENERATORS) {
    for (const [path, content] of await generator(root)) {
      const file = join(root, path);
      if ((await current(file)) === content) continue;
      stale.push(path);
      if (!write) continue;
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, content);
    }
  }
  return stale;
}

const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
const stale = await generate(resolve(import.meta.dirname, '..'), !values.check);
if (values.check && stale.length > 0) {
  process.stderr.write(`out of date: ${stale.join(', ')}\nrun \`make generate\` and commit the changes\n`);
  process.exitCode = 1;
} else {
  process.stdout.write(stale.length > 0 ? `wrote ${stale.join(', ')}\n` : 'everything is up to date\n');
}
