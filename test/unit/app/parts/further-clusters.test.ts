import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Boot } from '../../../../src/app/parts/boot.ts';
import { openFurtherClusters } from '../../../../src/app/parts/further-clusters.ts';
import { PROPERTIES } from '../../../../src/app/parts/properties.ts';
import { loadSettings } from '../../../../src/config/settings.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-clusters-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Opens the clusters of the files, each given by its content. @returns the paths and the error */
async function opened(...contents: string[]): Promise<{ files: string[]; error: unknown }> {
  const files = contents.map((_, index) => join(folder, `${index}.yaml`));
  await Promise.all(contents.map((content, index) => writeFile(files[index] ?? '', content)));
  const args = ['--cluster=shop', ...files.map((file) => `--cluster-files=${file}`)];
  const { settings } = await loadSettings({ args, env: {}, properties: PROPERTIES, suggest: () => undefined });
  const error = await openFurtherClusters({ settings } as Boot).catch((thrown: unknown) => thrown);
  return { files, error };
}

const CRM = 'cluster: crm\nfurther-cluster: true\n';

it('refuse the files of clusters that the operator cannot distinguish, each with what is wrong', async () => {
  const { files, error } = await opened(
    CRM,
    CRM,
    'cluster: shop\nfurther-cluster: true\n',
    'cluster: web\n',
    'cluster: eu\nfurther-cluster: true\nenvironment: test\n',
  );
  expect(error).toMatchObject({
    problems: [
      `${files[1]}: \`cluster\` is \`crm\`, as that of another file`,
      `${files[2]}: \`cluster\` is \`shop\`, as that of another file`,
      `${files[3]}: \`further-cluster\` is not set: the gateways would show the report of \`shop\``,
      `${files[4]}: \`environment\` is \`test\`, but that of the operator is \`default\`: an operator has one environment`,
    ],
  });
});

it('refuse a file with a setting that is not known, with its name', async () => {
  const { files, error } = await opened(`${CRM}controller: http://pinot:9000\n`);
  expect(error).toMatchObject({ problems: [expect.stringContaining('unknown key `controller`')] });
  expect((error as Error).message).toContain(files[0] ?? '');
});
