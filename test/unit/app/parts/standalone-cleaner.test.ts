import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { standalone } from '../../../../src/app/standalone.ts';
import { startTestService } from '../../../support/service.ts';

it.each([
  'controller.admin.auth.url=/run/token',
  'controller.cluster.pagination.cleaner.frequencyPeriod=10m',
  'controller.cluster.pagination.cleaner.initialDelay=5s',
])('standalone refuses what configures the cleaner of the operator: %s', async (set) => {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-standalone-'));
  try {
    const flags = { 'data-dir': folder, controllers: 'http://127.0.0.1:9', set };
    await expect(startTestService(standalone, flags)).rejects.toThrow(
      `\`${set.split('=', 1)[0]}\` has no effect here: it configures the cleaner of the operator`,
    );
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
