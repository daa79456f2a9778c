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
import { Conflict } from './conflict.tsx';
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
  const { text, description, version, ...draft } = usePolicyDraft(props.name);
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
    draft.saved(sent, saved.etag);
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
              onChange={(value) => draft.setDescription(value, policy.etag)}
            />
            <DocumentEditor
              value={text ?? stored}
              revision={`${shownVersion.current} ${discards}`}
              onChange={(value) => {
                draft.setText(value, policy.etag);
                clearError();
              }}
              serverError={error}
            />
            {conflict ? (
              <Conflict what="policy" {...policy} onKeepMine={() => save(policy, policy.etag)} onTakeTheirs={discard}>
                <Changes stored={stored} policy={policy} text={text} description={description} theirs />
              </Conflict>
            ) : (
              changed && <Changes stored={stored} policy={policy} text={text} description={description} />
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

/** What the unsaved input changes, before it is saved. */
function Changes(props: {
  stored: string;
  policy: Policy;
  text: string | undefined;
  description: string | undefined;
  /** Whether somebody else saved the stored version meanwhile. */
  theirs?: boolean;
}): JSX.Element {
  const { policy, stored, text, description } = props;
  const before = `${policy.description}\n${stored}`;
  const after = `${description ?? policy.description}\n${text === undefined ? stored : pretty(text)}`;
  return (
    <Difference
      label={props.theirs === true ? 'The saved version, and what yours would change' : 'What Save changes'}
      before={before}
      after={after}
    />
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
