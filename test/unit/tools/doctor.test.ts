import { describe, expect, it } from 'vitest';
import { diagnose, report, type Machine } from '../../../tools/dev/doctor-checks.ts';

const OUTPUTS: Readonly<Record<string, string>> = {
  npm: '10.9.0\n',
  [process.execPath]: 'v24.21.0\n',
  javac: 'javac 17.0.14\n',
  mvn: 'Apache Maven 3.9.9 (8e8579a9)\nMaven home: /opt/maven\n',
  go: 'go version go1.26.1 linux/amd64\n',
  flock: 'flock from util-linux 2.38.1\n',
  chromium: 'Chromium 140.0.1\n',
  firefox: 'Mozilla Firefox 140.12.0esr\n',
  docker: 'Server Version: 28\n',
};

const machine = (
  changes: Partial<Machine> = {},
  outputs: Readonly<Record<string, string | undefined>> = {},
): Machine => ({
  platform: 'linux',
  run: (file) => Promise.resolve({ ...OUTPUTS, ...outputs }[file]),
  isFree: () => Promise.resolve(true),
  freeDiskGb: 100,
  memoryGb: 16,
  nodeObstacle: () => 'requires root',
  ...changes,
});

const problems = async (of: Machine) => (await diagnose(of)).filter(({ state }) => state !== 'ok');

describe('make doctor', () => {
  it('reports a machine that meets all requirements', async () => {
    const diagnoses = await diagnose(machine());
    expect(diagnoses.every(({ state }) => state === 'ok')).toBe(true);
    expect(report(diagnoses)).toContain('✓ JDK: 17.0.14\n');
  });

  it.each([
    ['Go', { go: undefined }, 'not installed', 'Go 1.26 or newer'],
    ['Go', { go: 'go version go1.24.9 linux/amd64' }, '1.24.9', 'Go 1.26 or newer'],
    ['JDK', { javac: 'javac 11.0.2' }, '11.0.2', 'JDK 17 or newer'],
    ['Maven', { mvn: 'Apache Maven 3.6.3' }, '3.6.3', 'Maven 3.8 or newer'],
    ['npm', { npm: undefined }, 'not installed', 'Node 18 or newer with npm'],
    ['Chromium', { chromium: undefined }, 'not installed', 'tools/install.sh browser'],
    ['Firefox', { firefox: undefined }, 'not installed', 'tools/install.sh firefox'],
  ])('says what to do about %s: %j', async (name, outputs, found, advice) => {
    const [problem, ...others] = await problems(machine({}, outputs));
    expect(others).toEqual([]);
    expect(problem).toMatchObject({ name, state: 'missing', found, advice: expect.stringContaining(advice) });
    expect(report([problem!])).toMatch(/^✗ .*\n {4}\S/);
  });

  it('accepts a newer major version with a smaller minor version', async () => {
    expect(await problems(machine({}, { go: 'go version go2.0.1 linux/amd64', javac: 'javac 25' }))).toEqual([]);
  });

  it('says which ports, disk and memory are required', async () => {
    const small = machine({ isFree: (port) => Promise.resolve(port !== 8080), freeDiskGb: 3, memoryGb: 2 });
    expect((await problems(small)).map(({ name, advice }) => [name, advice])).toEqual([
      ['free disk', expect.stringContaining('at least 15 GB')],
      ['memory', expect.stringContaining('at least 6 GB')],
      ['port 8080', expect.stringContaining('make run PORT=8081')],
    ]);
  });

  it('does not require a cluster for the release tests', async () => {
    expect(await problems(machine({ nodeObstacle: () => undefined }, { docker: undefined }))).toEqual([]);
    const [problem] = await problems(machine({}, { docker: undefined }));
    expect(problem).toMatchObject({ state: 'optional', found: 'no Docker; requires root' });
  });
});
