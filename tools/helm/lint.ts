// `make lint-chart`: runs helm lint, kubeconform and helm-unittest for all tested combinations, and kube-score. Requires neither network nor cluster.
import { join } from 'node:path';
import { COMBINATIONS, FOREIGN_KINDS, REQUIRED } from './combinations.ts';
import { CHART, CRDS_CHART, helmTools, output, render } from './render.ts';
import { score } from './score.ts';

/** Schemas of Kubernetes' own kinds, written by schemas.ts. */
const SCHEMAS = join(import.meta.dirname, 'schemas/{{ .ResourceKind }}.json');

async function lint(): Promise<void> {
  const tools = await helmTools();
  const helm = join(tools, 'helm');
  const conform = ['-strict', '-summary', '-skip', FOREIGN_KINDS.join(','), '-schema-location', SCHEMAS, '-'];

  for (const combination of COMBINATIONS) {
    const values = JSON.stringify({ ...REQUIRED, ...combination.values });
    await output(helm, ['lint', '--strict', '--quiet', '--values', '-', CHART], values);
    const checked = await output(join(tools, 'kubeconform'), conform, await render(helm, combination));
    process.stdout.write(`✓ ${combination.name}: ${checked.trim()}\n`);
  }
  await output(helm, ['lint', '--strict', '--quiet', CRDS_CHART]);
  await output(join(tools, 'kubeconform'), conform, await output(helm, ['template', 'crds', CRDS_CHART]));
  process.stdout.write(await score(helm));
  process.stdout.write(await output(join(tools, 'helm-unittest'), ['--strict', CHART]));
}

try {
  await lint();
} catch (error) {
  // The output of the program that failed, without a stack trace.
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
