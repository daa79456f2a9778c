import { newEnforcer, newModelFromString, type Enforcer } from 'casbin';
import { compileGlob, globMatches } from '../../src/platform/glob.ts';
import type { PolicySpec } from '../../src/resources/policy.ts';
import type { Srn } from '../../src/access/policy/srn.ts';

const MODEL = `
[request_definition]
r = act, obj

[policy_definition]
p = act, obj, eft

[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))

[matchers]
m = glob(r.act, p.act) && glob(r.obj, p.obj)
`;

/** An enforcer with the statements of one principal. Resources have one level here. */
export async function prepareCasbin(specs: readonly PolicySpec[]): Promise<Enforcer> {
  const enforcer = await newEnforcer(newModelFromString(MODEL));
  enforcer.enableLog(false);
  await enforcer.addFunction('glob', glob);
  const lines = specs
    .flatMap((spec) => spec.statements)
    .flatMap(({ effect, actions = ['*'], resources }) =>
      actions.flatMap((action) => resources.map((resource) => [action.toLowerCase(), resource, effect])),
    );
  // casbin rejects a line that is added twice.
  const distinct = new Map(lines.map((line) => [line.join(' '), line]));
  await enforcer.addPolicies([...distinct.values()]);
  return enforcer;
}

export function askCasbin(enforcer: Enforcer, action: string, resource: Srn): boolean {
  const [level] = resource.levels;
  return enforcer.enforceSync(action.toLowerCase(), `srn2:${level?.kind}#${level?.id}`);
}

const globs = new Map<string, ReturnType<typeof compileGlob>>();

function glob(text: string, pattern: string): boolean {
  let compiled = globs.get(pattern);
  if (!compiled) globs.set(pattern, (compiled = compileGlob(pattern)));
  return globMatches(compiled, text);
}
