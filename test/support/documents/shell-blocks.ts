import { BLOCKS, type Block } from './blocks.ts';

const REST = 'test/integration/docs/rest-commands.test.ts';
const INSTALL = 'test/integration/docs/install-commands.test.ts';
const EXAMPLES = 'test/integration/results/examples.test.ts';
const BACKUP = 'test/integration/manifests/backup.test.ts';
const UPGRADE = 'test/integration/crds/upgrade.test.ts';
const MIGRATION = 'test/integration/operator/hash-migration.test.ts';
const GUIDES = 'test/e2e/guides.test.ts';
const NO_NODES = 'not run: the kube-apiserver of this test has no nodes, and no operator runs';
const ACCESS = 'test/unit/docs/access-in-git.test.ts';
const DRY = 'test/unit/docs/commands.test.ts';

/**
 * For each page, who runs its blocks `sh` and `console`, in their order: the path of a test. A block that no test
 * runs has the reason instead, which begins with `not run: `.
 */
export const RUNNERS: Readonly<Record<string, readonly string[]>> = {
  'README.md': [REST, 'test/e2e/make-run.test.ts', 'not run: it is the whole of the tests', INSTALL],
  'bench/results.md': [DRY],
  'charts/olap-warden-crds/README.md': [INSTALL],
  // The head is a part of the README, which is generated.
  'charts/olap-warden/README.head.md': [INSTALL],
  'charts/olap-warden/README.md': [INSTALL],
  'docs/access-in-git.md': [ACCESS, ACCESS, ACCESS, ACCESS],
  'docs/checks/IDEAL_STATE_EV_MISMATCH_CHECK.md': ['test/integration/docs/runbook-commands.test.ts'],
  'docs/checks/README.md': [REST],
  'docs/guides/access-for-a-team.md': Array.from({ length: 9 }, () => GUIDES),
  'docs/guides/health-at-night.md': Array.from({ length: 10 }, () => GUIDES),
  'docs/guides/in-front-of-a-cluster.md': [INSTALL, INSTALL, INSTALL, INSTALL, INSTALL],
  'docs/guides/on-kubernetes.md': [INSTALL, NO_NODES, INSTALL, NO_NODES, INSTALL, NO_NODES, INSTALL, INSTALL],
  'docs/guides/results-in-data-frames.md': [GUIDES, GUIDES, GUIDES, GUIDES],
  'docs/guides/ten-minutes.md': ['test/e2e/make-run.test.ts', ...Array.from({ length: 8 }, () => GUIDES)],
  'docs/install.md': [INSTALL, INSTALL, INSTALL, INSTALL, INSTALL, INSTALL, INSTALL],
  'docs/operations.md': [BACKUP, BACKUP, REST],
  'docs/paginated-queries.md': [REST, 'not run: tests set these variables themselves', EXAMPLES, EXAMPLES],
  'docs/rbac.md': [REST, REST, REST, REST],
  'docs/resources/clusterhealthreport.md': [REST, REST],
  'docs/resources/policy.md': [REST],
  'docs/resources/role.md': [REST],
  'docs/resources/roleassignment.md': [REST],
  'docs/resources/servicetoken.md': [REST],
  'docs/versions.md': [UPGRADE, UPGRADE, MIGRATION],
};

/** The shell blocks of the pages, by page. */
export function shellBlocks(): Map<string, Block[]> {
  const pages = new Map<string, Block[]>();
  for (const block of BLOCKS.filter(({ language }) => language === 'sh' || language === 'console')) {
    pages.set(block.path, [...(pages.get(block.path) ?? []), block]);
  }
  return pages;
}

/** A block that a test runs, with its number on its page, from 0. */
export interface Assigned extends Block {
  readonly index: number;
}

/** The blocks that a test runs. @param test path from the root of the repository */
export function blocksOf(test: string): Assigned[] {
  return [...shellBlocks()].flatMap(([path, blocks]) =>
    blocks.map((block, index) => ({ ...block, index })).filter(({ index }) => RUNNERS[path]?.[index] === test),
  );
}

/** A block of a page by its number among the shell blocks. @throws {Error} if the page does not have it */
export function shellBlock(path: string, index: number): Block {
  const block = shellBlocks().get(path)?.[index];
  if (block === undefined) throw new Error(`${path} has no shell block ${index}`);
  return block;
}
