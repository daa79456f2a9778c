import { describe, expect, it } from 'vitest';
import { total } from '../../../tools/dev/skips.ts';

describe('the last lines of all tests', () => {
  it('are the number of tests', () => {
    expect(total({ passed: 12, failed: 0 })).toEqual({ failed: 0, text: '\n12 passed, 0 failed\n' });
    expect(total({ passed: 12, failed: 3 }).text).toBe('\n12 passed, 3 failed\n');
  });

  it('follow the names of what failed', () => {
    const failures = ['lint: types', 'test/unit/a.test.ts: a page is read'];
    expect(total({ passed: 12, failed: 2, failures }).text).toBe(
      '\n2 failed:\n  lint: types\n  test/unit/a.test.ts: a page is read\n\n12 passed, 2 failed\n',
    );
  });

  it.each([
    'joins (Pinot >=1.3; tested: 0.11.0)',
    'a node (skipped: a node needs root) starts',
    'a node (skipped: a node needs 6 GB of memory, this machine has 3.8) starts',
    'a release (skipped: kind needs a Docker that works here; the node is made for cgroup v1 hierarchies, and this machine mounts none: use a cluster of `kind`) runs',
    'a full disk (skipped: `unshare -rm` does not work on this machine) is reported',
    'the disk is full (skipped: requires root)',
  ])('name a test that this machine cannot run: %s', (name) => {
    expect(total({ passed: 1, failed: 0, skipped: [name] })).toEqual({
      failed: 0,
      text: `\n1 skipped:\n  ${name}\n\n1 passed, 0 failed, 1 skipped\n`,
    });
  });

  it.each([
    'in Firefox signs in',
    'curl (skipped: `sh -c curl --version && jq --version` does not work on this machine)',
    'a node (skipped: a node needs the commands nsenter, openssl) starts',
    'a node (skipped: the parts of a node are not built, and there is no `go` to build them with) starts',
  ])('count a test as failed that is skipped because a program is missing: %s', (name) => {
    const { text, failed } = total({ passed: 1, failed: 1, skipped: [name] });
    expect(failed).toBe(2);
    expect(text).toContain(`which fails:\n  ${name}\n`);
    expect(text).toMatch(/\n1 passed, 2 failed\n$/);
  });
});
