import { availableParallelism, totalmem } from 'node:os';

/** Memory for one test file with real parts: Pinot, kube-apiserver, etcd and the processes that the file starts. */
const BYTES_PER_FILE = 6 * 2 ** 30;

interface Machine {
  readonly cores: number;
  /** In bytes. */
  readonly memory: number;
}

const thisMachine = (): Machine => ({ cores: availableParallelism(), memory: totalmem() });

/**
 * How many test files with real parts run at the same time, each with its own parts. TEST_WORKERS=number overrides it.
 * @throws {Error} when TEST_WORKERS is no whole number above 0
 */
export function parallelFiles(environment: NodeJS.ProcessEnv = process.env, machine = thisMachine()): number {
  const wanted = environment['TEST_WORKERS'];
  if (wanted !== undefined && wanted !== '') {
    if (!/^[1-9]\d?$/.test(wanted)) throw new Error(`TEST_WORKERS=${wanted}: must be a whole number from 1 to 99`);
    return Number(wanted);
  }
  // All files would use the one cluster that it names.
  if (environment['TEST_CONTROLLER'] !== undefined) return 1;
  // One more than cores: the tests wait for timers and other processes half of the time.
  return Math.max(1, Math.min(machine.cores + 1, Math.floor(machine.memory / BYTES_PER_FILE)));
}
