import { parseArgs } from 'node:util';
import { accessPlan, PLAN_FAILURES, PLAN_FORMATS, type PlanRequest } from '../app/access-plan.ts';
import type { AccessSource } from '../app/parts/access-sides.ts';
import type { CheckContext } from '../app/check.ts';
import { gatewaySource, SOURCE_HELP, SOURCE_OPTIONS } from './access-arguments.ts';
import { oneOf } from './one-of.ts';
import type { Subcommand } from './subcommand.ts';

const USAGE = `Usage: olap-warden access plan -f PATH (--against REVISION | --with PATH | --gateway URL | --kubeconfig PATH) [options]

Prints who gains and who loses what by a change of roles, policies and assignments: each subject with all of its
roles, by actions and resources, with the file and line that cause it. Nothing is written.

Options:
  -f, --file PATH              file or folder of manifests after the change; can be repeated
  --against REVISION           compare with the same paths in a revision of Git, such as main
  --with PATH                  compare with another file or folder; can be repeated
${SOURCE_HELP}
  -o, --output FORMAT          ${PLAN_FORMATS.join(', ')} (default: text); markdown is for a comment on a pull request
  --fail-on KIND               exit with 1 if a subject gains something (gain), or the management of access (admin);
                               ${PLAN_FAILURES.join(', ')} (default: none)
  -h, --help                   print this help

Exit code: 0 compared; 1 as --fail-on says; 2 something cannot be read or compared, or usage error.
`;

export const PLAN: Subcommand = {
  usage: USAGE,
  run: async (context) => {
    const request = await parse(context);
    return request === 'help' ? 'help' : accessPlan(request, context, context.signal, context.clock);
  },
};

async function parse({ args, env }: CheckContext): Promise<PlanRequest | 'help'> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: {
      ...SOURCE_OPTIONS,
      file: { type: 'string', short: 'f', multiple: true },
      against: { type: 'string' },
      with: { type: 'string', multiple: true },
      output: { type: 'string', short: 'o', default: 'text' },
      'fail-on': { type: 'string', default: 'none' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  const paths = values.file ?? [];
  if (paths.length === 0) throw new Error('missing `-f`, such as `-f access/`');
  const { against, with: other, gateway, kubeconfig } = values;
  const sources: { readonly source: AccessSource; readonly against: string }[] = [
    ...(against === undefined ? [] : [{ source: { from: 'git', revision: against, paths } as const, against }]),
    ...(other === undefined ? [] : [{ source: { from: 'files', paths: other } as const, against: other.join(', ') }]),
    ...(gateway === undefined ? [] : [{ source: await gatewaySource(gateway, values, env), against: gateway }]),
    ...(kubeconfig === undefined ? [] : [{ source: { from: 'cluster', kubeconfig } as const, against: kubeconfig }]),
  ];
  const [first] = sources;
  if (first === undefined || sources.length > 1)
    throw new Error('name what to compare with by one of `--against`, `--with`, `--gateway` and `--kubeconfig`');
  return {
    after: { from: 'files', paths },
    before: first.source,
    against: first.against,
    namespace: values.namespace,
    format: oneOf('--output', values.output, PLAN_FORMATS),
    failOn: oneOf('--fail-on', values['fail-on'], PLAN_FAILURES),
  };
}
