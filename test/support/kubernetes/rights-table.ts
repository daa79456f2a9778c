import type { ControlPlane } from '../control-plane.ts';

/** Each right as `verb resource`, or `verb resource name` if it is for one object; sorted. */
export type RightList = readonly string[];

interface ResourceRule {
  readonly resources?: string[];
  readonly resourceNames?: string[];
  readonly verbs: string[];
}

/** Rights that Kubernetes gives to every service account. */
const OF_EVERYONE = /^create selfsubject(accessreviews|rulesreviews|reviews)$|^(get|list|watch) clustertrustbundles$/;

/** What the API server lists for an account, as `kubectl auth can-i --list` does, without what every account may do. */
export async function accountRights(api: ControlPlane, kubeconfig: string, namespace: string): Promise<RightList> {
  const review = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectRulesReview', spec: { namespace } };
  const { stdout } = await api.mustKubectl(
    ['create', '--raw', '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews', '-f', '-'],
    { kubeconfig, input: JSON.stringify(review) },
  );
  const { status } = JSON.parse(stdout) as { status: { resourceRules: ResourceRule[]; incomplete: boolean } };
  if (status.incomplete) throw new Error('the API server does not list all rights');
  const rights = status.resourceRules.flatMap(({ resources = [], resourceNames = [], verbs }) =>
    resources.flatMap((resource) => {
      const named = resourceNames.length === 0 ? [''] : resourceNames.map((name) => ` ${name}`);
      return verbs.flatMap((verb) => named.map((name) => `${verb} ${resource}${name}`));
    }),
  );
  return Array.from(new Set(rights.filter((right) => !OF_EVERYONE.test(right)))).sort();
}

/** The rights in the table of SECURITY.md. @param account heading of its column */
export function documentedRights(markdown: string, account: string): RightList {
  const cells = (line: string): string[] =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
  const lines = markdown.split('\n');
  const start = lines.findIndex((line) => line.startsWith('| resource |'));
  const column = cells(lines[start] ?? '').indexOf(account);
  if (column < 0) throw new Error(`SECURITY.md has no table of rights with the column \`${account}\``);
  const end = lines.findIndex((line, index) => index > start && !line.startsWith('|'));
  const rights = lines.slice(start + 2, end).flatMap((line) => {
    const resources = [...(cells(line)[0] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1]!);
    const groups = (cells(line)[column] ?? '').split(';').filter(Boolean);
    return groups.flatMap((group) => {
      const [verbs = '', name] = group.split(' of ');
      const of = name === undefined ? '' : ` ${name.replaceAll('`', '').trim()}`;
      return resources.flatMap((resource) => verbs.split(',').map((verb) => `${verb.trim()} ${resource}${of}`));
    });
  });
  return rights.sort();
}
