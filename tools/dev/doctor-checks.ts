/** What the checks read of the machine. Passed in, so that they can be tested. */
export interface Machine {
  readonly platform: string;
  /** The output of a program, stdout and stderr; undefined when it is not installed or fails. */
  readonly run: (file: string, ...args: string[]) => Promise<string | undefined>;
  /** Whether a port of the loopback interface is free. */
  readonly isFree: (port: number) => Promise<boolean>;
  /** Free space for the cache folder, GB. */
  readonly freeDiskGb: number;
  readonly memoryGb: number;
  /** Why a Kubernetes node cannot run in namespaces of this machine; undefined when it can. */
  readonly nodeObstacle: () => string | undefined;
}

export interface Diagnosis {
  readonly name: string;
  /** `missing` makes some `make` target fail; `optional` only skips tests. */
  readonly state: 'ok' | 'missing' | 'optional';
  readonly found: string;
  /** What to do; undefined when the state is `ok`. */
  readonly advice?: string;
}

type Check = (machine: Machine) => Promise<Diagnosis>;

/** The cache takes 2.5 GB; building its parts for the first time takes several times as much in the caches of Go and Maven. */
const MIN_DISK_GB = 15;
/** The tests start a Pinot cluster (about 2 GB) and, one after another, other servers. */
const MIN_MEMORY_GB = 6;

/** A check for a program of a minimum version. */
function program(options: {
  readonly name: string;
  readonly command: readonly [file: string, ...args: string[]];
  /** Finds the version in the output: major and optionally minor. */
  readonly pattern: RegExp;
  readonly minimum: readonly [major: number, minor: number];
  readonly advice: string;
}): Check {
  return async ({ run }) => {
    const { name, advice, minimum } = options;
    const output = await run(...options.command);
    if (output === undefined) return { name, state: 'missing', found: 'not installed', advice };
    const [text = '', major, minor = '0'] = options.pattern.exec(output) ?? [];
    if (major === undefined) return { name, state: 'missing', found: 'unknown version', advice };
    const difference = Number(major) - minimum[0] || Number(minor) - minimum[1];
    return difference < 0 ? { name, state: 'missing', found: text, advice } : { name, state: 'ok', found: text };
  };
}

function port(variable: string, number: number): Check {
  return async ({ isFree }) => {
    const name = `port ${number}`;
    if (await isFree(number)) return { name, state: 'ok', found: 'free' };
    const advice = `stop the program that listens on it, or use \`make run ${variable}=${number + 1}\``;
    return { name, state: 'missing', found: 'in use', advice };
  };
}

const CHECKS: readonly Check[] = [
  ({ platform }) =>
    Promise.resolve(
      platform === 'linux'
        ? { name: 'system', state: 'ok', found: 'Linux' }
        : { name: 'system', state: 'missing', found: platform, advice: 'use Linux, for example in a virtual machine' },
    ),
  program({
    name: 'npm',
    command: ['npm', '--version'],
    pattern: /(\d+)\.(\d+)\.\d+/,
    minimum: [8, 0],
    advice: 'install Node 18 or newer with npm (https://nodejs.org/)',
  }),
  program({
    name: 'Node of olap-warden',
    command: [process.execPath, '--version'],
    pattern: /(\d+)\.(\d+)\.\d+/,
    minimum: [24, 0],
    advice: 'run `tools/install.sh node`',
  }),
  program({
    name: 'JDK',
    command: ['javac', '-version'],
    pattern: /(\d+)(?:\.(\d+))?(?:\.\d+)*/,
    minimum: [17, 0],
    advice: 'install a JDK 17 or newer; required by `make run` (without OLAP_CONTROLLER) and `make test`',
  }),
  program({
    name: 'Maven',
    command: ['mvn', '--version'],
    pattern: /(\d+)\.(\d+)\.\d+/,
    minimum: [3, 8],
    advice: 'install Maven 3.8 or newer; required by `make run` (without OLAP_CONTROLLER) and `make test`',
  }),
  program({
    name: 'Go',
    command: ['go', 'version'],
    pattern: /(\d+)\.(\d+)(?:\.\d+)?/,
    minimum: [1, 26],
    advice: 'install Go 1.26 or newer (https://go.dev/dl/); required by `make test`',
  }),
  program({
    name: 'flock',
    command: ['flock', '--version'],
    pattern: /(\d+)\.(\d+)(?:\.\d+)?/,
    minimum: [2, 0],
    advice: 'install util-linux; required to build the parts',
  }),
  ({ freeDiskGb }) =>
    Promise.resolve(amount('free disk', freeDiskGb, MIN_DISK_GB, 'set XDG_CACHE_HOME to a larger disk')),
  ({ memoryGb }) =>
    Promise.resolve(amount('memory', memoryGb, MIN_MEMORY_GB, 'use a machine with more memory for `make test`')),
  port('PORT', 8080),
  port('METRICS_PORT', 9090),
  browser('Chromium', 'browser', ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']),
  browser('Firefox', 'firefox', ['firefox-esr', 'firefox']),
  cluster,
];

function amount(name: string, gb: number, minimumGb: number, advice: string): Diagnosis {
  const found = `${gb.toFixed(1)} GB`;
  if (gb >= minimumGb) return { name, state: 'ok', found };
  return { name, state: 'missing', found, advice: `at least ${minimumGb} GB are required: ${advice}` };
}

/** A check for a browser of the dashboard tests. @param part of `tools/install.sh` */
function browser(name: string, part: string, files: readonly string[]): Check {
  return async ({ run }) => {
    for (const file of files) {
      const version = await run(file, '--version');
      if (version !== undefined) return { name, state: 'ok', found: version.trim() };
    }
    const variable = name.toUpperCase();
    const advice = `run \`tools/install.sh ${part}\` as root on Debian, or set ${variable}; required by the dashboard tests`;
    return { name, state: 'missing', found: 'not installed', advice };
  };
}

/** The release tests run on kind (Docker) or on a node in namespaces (root, cgroup v1); otherwise they are skipped. */
async function cluster({ run, nodeObstacle }: Machine): Promise<Diagnosis> {
  const name = 'cluster for release tests';
  if ((await run('docker', 'info')) !== undefined) return { name, state: 'ok', found: 'kind, with Docker' };
  const obstacle = nodeObstacle();
  if (obstacle === undefined) return { name, state: 'ok', found: 'a node in namespaces of this machine' };
  const advice =
    'install Docker, or run as root on a machine with cgroup v1; without either the release tests are skipped';
  return { name, state: 'optional', found: `no Docker; ${obstacle}`, advice };
}

/** Checks the requirements of `make run` and `make test`, in the order in which they matter. */
export function diagnose(machine: Machine): Promise<Diagnosis[]> {
  return Promise.all(CHECKS.map((check) => check(machine)));
}

const MARKS = { ok: '✓', missing: '✗', optional: '–' } as const;

/** One line per requirement, and a line with the advice where something is missing. */
export function report(diagnoses: readonly Diagnosis[]): string {
  return diagnoses
    .map(({ name, state, found, advice }) => {
      const line = `${MARKS[state]} ${name}: ${found}\n`;
      return advice === undefined ? line : `${line}    ${advice}\n`;
    })
    .join('');
}
