import { parseArgs } from 'node:util';
import { accessTest, type TestRequest } from '../app/access-test.ts';
import type { CheckContext } from '../app/check.ts';
import type { Subcommand } from './subcommand.ts';

const USAGE = `Usage: olap-warden access test FILE... -f PATH [options]

Asks the questions of files of the kind AccessTest, decides them by the roles and policies in manifests with the code
of the gateway, and compares the answers with the expected ones. No server is needed.

Options:
  -f, --file PATH              file or folder of manifests; can be repeated
  --junit FILE                 also write the results as JUnit XML
  --environment NAME           the setting environment of the gateway (default: default)
  --cluster NAME               the setting cluster of the gateway (default: pinot)
  -n, --namespace NAME         namespace of the resources: by default the only one in the files
  -h, --help                   print this help

Exit code: 0 all answers are as expected; 1 one is not; 2 something cannot be read, or usage error.
`;

export const TEST: Subcommand = {
  usage: USAGE,
  run: async (context) => {
    const request = parse(context);
    return request === 'help' ? 'help' : accessTest(request, context, context.signal, context.clock);
  },
};

function parse({ args }: Pick<CheckContext, 'args'>): TestRequest | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: true,
    options: {
      file: { type: 'string', short: 'f', multiple: true },
      junit: { type: 'string' },
      environment: { type: 'string', default: 'default' },
      cluster: { type: 'string', default: 'pinot' },
      namespace: { type: 'string', short: 'n' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  if (positionals.length === 0) throw new Error('missing FILE, such as `tests/access.yaml`');
  if (values.file === undefined) throw new Error('missing `-f`, such as `-f access/`');
  const { environment, cluster, namespace, junit, file } = values;
  return { tests: positionals, manifests: file, deployment: { environment, cluster }, namespace, junit };
}
