import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { BusyButton, DangerButton, ErrorNote, Loaded, Prose } from '../../components/basics.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Difference } from '../../components/difference.tsx';
import { TextField } from '../../components/fields.tsx';
import { ApiError, call, callTagged, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { policyManifest } from '../../lib/copy.ts';
import { prettyJson } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { Policy, PolicySummary } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { BothChanges, Conflict } from './conflict.tsx';
import { DocumentEditor } from './document-editor.tsx';
import { Authorship, isPredefined, MasterDetail } from './master-detail.tsx';
import { meaningOf } from './meaning.ts';
import { NewNamed } from './new-resource.tsx';
import { PolicyRoles } from './policy-roles.tsx';
import { usePolicyDraft } from './use-policy-draft.ts';

const EXAMPLE = prettyJson({
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
});

function NewPolicy(props: { onDone: (name: string | undefined) => void }): JSX.Element {
  const [text, setText] = useState(EXAMPLE);
  return (
    <NewNamed title="New policy" path="/policies" wide body={{ policyDocumentJson: text }} onDone={props.onDone}>
      {(serverError, clearError) => (
        <DocumentEditor
          value={text}
          onChange={(value) => {
            setText(value);
            clearError();
          }}
          serverError={serverError}
        />
      )}
    </NewNamed>
  );
}

/** Formats the document, so that each error has its own line. */
function pretty(text: string): string {
  try {
    return prettyJson(JSON.parse(text));
  } catch {
    return text;
  }
}

/** Description and document, for differences. */
const contentOf = (description: string, text: string): string => `${description}\n${pretty(text)}`;

const versionOf = ({ etag, description, policyDocumentJson }: Tagged<Policy>): { etag: string; content: string } => ({
  etag,
  content: contentOf(description, policyDocumentJson),
});

function Warnings(props: { warnings: readonly string[] }): JSX.Element | null {
  if (props.warnings.length === 0) return null;
  return (
    <ul class="note" role="status">
      {props.warnings.map((warning) => (
        <li key={warning}>
          <Prose text={warning} />
        </li>
      ))}
    </ul>
  );
}

function PolicyDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const path = rbac(`/policies/${encodeSrn(`srn2:policy#${props.name}`)}`);
  const data = useData(path, (signal) => callTagged<Policy>(path, { signal }));
  const { text, description, version, content, ...draft } = usePolicyDraft(props.name);
  const [discards, setDiscards] = useState(0);
  /** The version that the editor shows. It stays while there is unsaved text. */
  const shownVersion = useRef<string | undefined>(undefined);
  const { error, attempt, send, clearError } = useChange(props.onChanged);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const changed = text !== undefined || description !== undefined;
  const save = async (policy: Tagged<Policy>, ifMatch: string): Promise<void> => {
    const body = {
      description: description ?? policy.description,
      policyDocumentJson: text ?? policy.policyDocumentJson,
    };
    const sent = { text, description };
    let saved: Tagged<Policy> | undefined;
    await attempt(async () => {
      try {
        saved = await callTagged<Policy>(path, { method: 'PUT', body, headers: { 'if-match': ifMatch } });
      } catch (failure) {
        // The other version is shown beside the input.
        if (failure instanceof ApiError && failure.status === 412) data.replace(await callTagged<Policy>(path));
        throw failure;
      }
    });
    if (!saved) return;
    setWarnings(saved.warnings ?? []);
    draft.saved(sent, versionOf(saved));
    data.replace(saved);
  };
  const discard = (): void => {
    draft.discard();
    setDiscards(discards + 1);
    data.reload();
    clearError();
  };
  return (
    <Loaded data={data} what="the policy">
      {(policy) => {
        const fixed = isPredefined(policy);
        const stored = pretty(policy.policyDocumentJson);
        const conflict = changed && version !== undefined && version !== policy.etag;
        if (text === undefined) shownVersion.current = policy.etag;
        const body = { name: props.name, description: policy.description, policyDocument: policy.policyDocument };
        return (
          <article class="card">
            <h2>{props.name}</h2>
            <p>{meaningOf(policy.policyDocument.statements)}</p>
            <Authorship resource={policy} />
            <TextField
              label="Description"
              value={description ?? policy.description}
              onChange={(value) => draft.setDescription(value, versionOf(policy))}
            />
            <DocumentEditor
              value={text ?? stored}
              revision={`${shownVersion.current} ${discards}`}
              onChange={(value) => {
                draft.setText(value, versionOf(policy));
                clearError();
              }}
              serverError={error}
            />
            {conflict ? (
              <Conflict what="policy" {...policy} onKeepMine={() => save(policy, policy.etag)} onTakeTheirs={discard}>
                <BothChanges
                  base={content ?? ''}
                  theirs={versionOf(policy).content}
                  mine={contentOf(description ?? policy.description, text ?? stored)}
                />
              </Conflict>
            ) : (
              changed && (
                <Difference
                  label="What Save changes"
                  before={versionOf(policy).content}
                  after={contentOf(description ?? policy.description, text ?? stored)}
                />
              )
            )}
            {!conflict && <ErrorNote message={error} />}
            <Warnings warnings={warnings} />
            <PolicyRoles path={path} />
            <footer class="row">
              <BusyButton
                class="primary"
                onPress={() => save(policy, version ?? policy.etag)}
                disabled={fixed || !changed || conflict}
              >
                Save
              </BusyButton>
              {changed && !conflict && (
                <button type="button" onClick={discard}>
                  Discard changes
                </button>
              )}
              <DangerButton
                label="Delete the policy"
                disabled={fixed}
                onConfirm={async () => {
                  if (await send(path, 'DELETE')) setQuery({ name: undefined });
                }}
              />
              <CopyAs
                call={{ method: 'POST', path: rbac('/policies'), body }}
                manifest={() => policyManifest(policy)}
              />
            </footer>
          </article>
        );
      }}
    </Loaded>
  );
}

export function PoliciesTab(): JSX.Element {
  const list = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  return (
    <MasterDetail
      what="Policies"
      one="policy"
      list={list}
      item={({ name, description }) => ({ name, note: description })}
      renderNew={(onDone) => <NewPolicy onDone={onDone} />}
      detail={(name) => <PolicyDetail key={name} name={name} onChanged={list.reload} />}
    />
  );
}
