import { parseArgs } from 'node:util';
import { accessLint } from '../app/access-lint.ts';
import type { Subcommand } from './subcommand.ts';

const USAGE = `Usage: olap-warden access lint -f PATH [options]

Finds statements of policies that never match, that never decide because others allow or deny the same, and that
contradict others. The texts are those of the gateway's warnings. Tables are not known without a server.

Options:
  -f, --file PATH              file or folder of manifests; can be repeated
  --environment NAME           the setting environment of the gateway (default: default)
  --cluster NAME               a cluster of the environment; repeat it for all of them, to find names of others
  -n, --namespace NAME         namespace of the resources: by default the only one in the files
  -h, --help                   print this help

Exit code: 0 nothing found; 1 something found; 2 something cannot be read, or usage error.
`;

export const LINT: Subcommand = {
  usage: USAGE,
  run: async (context) => {
    const { values } = parseArgs({
      args: [...context.args],
      strict: true,
      allowPositionals: false,
      options: {
        file: { type: 'string', short: 'f', multiple: true },
        environment: { type: 'string', default: 'default' },
        cluster: { type: 'string', multiple: true },
        namespace: { type: 'string', short: 'n' },
        help: { type: 'boolean', short: 'h' },
      },
    });
    if (values.help === true) return 'help';
    if (values.file === undefined) throw new Error('missing `-f`, such as `-f access/`');
    const { environment, cluster: clusters = [], namespace, file } = values;
    const request = { manifests: file, environment, clusters, namespace };
    return accessLint(request, context, context.signal, context.clock);
  },
};
