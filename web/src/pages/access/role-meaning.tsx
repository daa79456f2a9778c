import type { JSX } from 'preact';
import { ApiError, call, encodeSrn, rbac } from '../../lib/api.ts';
import type { Policy, PolicySummary } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { visible } from '../../lib/visible.ts';
import { meaningOf } from './meaning.ts';

/** Maximum policies whose documents are read for the sentence. */
const MAX_POLICIES = 10;

/** The documents of the policies; undefined for one that was deleted or detached meanwhile. */
async function documentsOf(policies: readonly PolicySummary[], signal: AbortSignal): Promise<(Policy | undefined)[]> {
  return Promise.all(
    policies.map(({ srn }) =>
      call<Policy>(rbac(`/policies/${encodeSrn(srn)}`), { signal }).catch((error: unknown) => {
        if (error instanceof ApiError && (error.status === 403 || error.status === 404)) return undefined;
        throw error;
      }),
    ),
  );
}

/** What a role means, in one sentence. @param props.policies of the role; undefined while they are loading */
export function RoleMeaning(props: { policies: readonly PolicySummary[] | undefined }): JSX.Element | null {
  const { policies } = props;
  return policies === undefined || policies.length === 0 ? null : <Sentence policies={policies} />;
}

function Sentence(props: { policies: readonly PolicySummary[] }): JSX.Element | null {
  const { policies } = props;
  const read = policies.slice(0, MAX_POLICIES);
  const documents = useData(`meaning ${policies.map(({ name }) => name).join(' ')}`, (signal) =>
    documentsOf(read, signal),
  );
  if (documents.value === undefined) return null;
  const statements = documents.value.flatMap((policy) => policy?.policyDocument.statements ?? []);
  const more = policies.length - read.length;
  return (
    <p>
      {visible(meaningOf(statements))}
      {more > 0 && <span class="muted"> Without {more} further policies.</span>}
    </p>
  );
}
