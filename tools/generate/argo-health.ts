import { CUSTOM_KINDS, KINDS } from '../../src/resources/kinds.ts';
import { GROUP } from '../../src/resources/meta.ts';
import type { GeneratedFiles } from './generator.ts';

const PATH = 'manifests/argo-cd/health.yaml';

const HEADER = `# Generated from src/resources/ by \`make generate\`; do not edit.
# Health of olap-warden's resources in Argo CD, by \`Ready\` and \`Stalled\`. Merge it into the ConfigMap argocd-cm:
#   kubectl -n argocd patch configmap argocd-cm --type merge --patch-file ${PATH}
# A key for each kind: a ConfigMap has no keys with \`*\`.
data:
`;

/** For kinds with spec.suspend. */
const SUSPENDED = `if obj.spec ~= nil and obj.spec.suspend == true then
  return { status = "Suspended", message = "The periodic runs are suspended" }
end
`;

const script = (
  suspends: boolean,
): string => `local health = { status = "Progressing", message = "Waiting for the operator" }
if obj.status == nil or obj.status.conditions == nil then
  return health
end
if obj.status.observedGeneration ~= nil and obj.status.observedGeneration ~= obj.metadata.generation then
  health.message = "Waiting for the operator to process the last change"
  return health
end
for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Stalled" and condition.status == "True" then
    return { status = "Degraded", message = condition.message }
  end
end
${suspends ? SUSPENDED : ''}for _, condition in ipairs(obj.status.conditions) do
  if condition.type == "Ready" then
    if condition.status == "True" then
      return { status = "Healthy", message = condition.message }
    end
    return { status = "Progressing", message = condition.message }
  end
end
return health
`;

/** The health checks of Argo CD, as a patch of its ConfigMap. */
export function generateArgoHealth(): GeneratedFiles {
  const keys = CUSTOM_KINDS.map((kind) => {
    const lines = script('suspend' in KINDS[kind].spec.properties)
      .trimEnd()
      .split('\n');
    return `  resource.customizations.health.${GROUP}_${kind}: |\n${lines.map((line) => `    ${line}\n`).join('')}`;
  });
  return new Map([[PATH, HEADER + keys.join('')]]);
}
