import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { BusyButton, Name } from '../../components/basics.tsx';
import { ErrorNote, Loaded } from '../../components/loaded.tsx';
import { DangerButton } from '../../components/danger-button.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { Difference } from '../../components/difference.tsx';
import { TextField } from '../../components/fields.tsx';
import { ApiError, call, callTagged, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { policyManifest } from '../../lib/copy.ts';
import { prettyJson } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import { useMayOn, useSession } from '../../lib/session.ts';
import type { Policy, PolicySummary } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData, type Data } from '../../lib/use-data.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { useVersionedDraft, type SavedVersion, type VersionedDraft } from '../../lib/use-versioned-draft.ts';
import { visible } from '../../lib/visible.ts';
import { BothChanges, Conflict } from './conflict.tsx';
import { DocumentEditor } from './document-editor.tsx';
import { MasterDetail } from '../../components/master-detail.tsx';
import { Authorship, isPredefined } from './authorship.tsx';
import { meaningOf } from './meaning.ts';
import { NewNamed } from './new-resource.tsx';
import { PolicyRoles } from './policy-roles.tsx';

const EXAMPLE = prettyJson({
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
});

function NewPolicy(props: { onDone: (name: string | undefined) => void }): JSX.Element {
  const [text, setText, discard] = useDraftOr('new/policies/document', EXAMPLE);
  return (
    <NewNamed
      title="New policy"
      path="/policies"
      action="CreatePolicy"
      wide
      body={{ policyDocumentJson: text }}
      hasInput={text !== EXAMPLE}
      onDone={(name) => {
        discard();
        props.onDone(name);
      }}
    >
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

const versionOf = ({ etag, description, policyDocumentJson }: Tagged<Policy>): SavedVersion => ({
  etag,
  content: contentOf(description, policyDocumentJson),
});

interface PolicyForm {
  readonly data: Data<Tagged<Policy>>;
  readonly draft: VersionedDraft;
  /** The number of times that the input was discarded. */
  readonly discards: number;
  readonly error: string | undefined;
  readonly clearError: () => void;
  readonly save: (policy: Tagged<Policy>, ifMatch: string) => Promise<void>;
  readonly discard: () => void;
  readonly remove: () => Promise<void>;
}

/** @throws {ApiError} for a 412 after `onOther` has got the version that somebody else saved */
async function putPolicy(
  path: string,
  body: object,
  ifMatch: string,
  onOther: (policy: Tagged<Policy>) => void,
): Promise<Tagged<Policy>> {
  try {
    return await callTagged<Policy>(path, { method: 'PUT', body, headers: { 'if-match': ifMatch } });
  } catch (failure) {
    if (failure instanceof ApiError && failure.status === 412) onOther(await callTagged<Policy>(path));
    throw failure;
  }
}

function usePolicyForm(path: string, name: string, onChanged: () => void): PolicyForm {
  const data = useData(path, (signal) => callTagged<Policy>(path, { signal }));
  const draft = useVersionedDraft(`policy/${name}`);
  const [discards, setDiscards] = useState(0);
  const { error, attempt, send, clearError } = useChange(onChanged);
  return {
    data,
    draft,
    discards,
    error,
    clearError,
    save: async (policy, ifMatch) => {
      const sent = draft.input;
      const { description, policyDocumentJson } = policy;
      await attempt(async () => {
        const saved = await putPolicy(path, { description, policyDocumentJson, ...sent }, ifMatch, data.replace);
        draft.saved(sent, versionOf(saved));
        data.replace(saved);
        return saved;
      });
    },
    discard: () => {
      draft.discard();
      setDiscards(discards + 1);
      data.reload();
      clearError();
    },
    remove: async () => {
      if (await send(path, 'DELETE')) setQuery({ name: undefined });
    },
  };
}

/** What a document that is not saved means; nothing while it is not one. */
function Meaning(props: { label: string; text: string }): JSX.Element | null {
  try {
    const { statements } = JSON.parse(props.text) as Policy['policyDocument'];
    return (
      <p>
        {props.label}: {visible(meaningOf(statements))}
      </p>
    );
  } catch {
    return null;
  }
}

/** What saving would change, or the conflict with what somebody else saved meanwhile. */
function PolicyChanges(props: { policy: Tagged<Policy>; form: PolicyForm; conflict: boolean }): JSX.Element | null {
  const { policy, form, conflict } = props;
  const { input, changed, base } = form.draft;
  if (!changed) return null;
  const { content } = versionOf(policy);
  const mine = contentOf(
    input['description'] ?? policy.description,
    input['policyDocumentJson'] ?? policy.policyDocumentJson,
  );
  if (!conflict) return <Difference label="What Save changes" before={content} after={mine} />;
  return (
    <Conflict what="policy" {...policy} onKeepMine={() => form.save(policy, policy.etag)} onTakeTheirs={form.discard}>
      <Meaning label="Saved" text={policy.policyDocumentJson} />
      <Meaning label="Yours" text={input['policyDocumentJson'] ?? policy.policyDocumentJson} />
      <BothChanges base={base?.content ?? ''} theirs={content} mine={mine} />
    </Conflict>
  );
}

function PolicyFields(props: { policy: Tagged<Policy>; form: PolicyForm }): JSX.Element {
  const { policy, form } = props;
  const { input, set } = form.draft;
  const text = input['policyDocumentJson'];
  /** The version that the editor shows. It stays while there is unsaved text. */
  const shownVersion = useRef(policy.etag);
  if (text === undefined) shownVersion.current = policy.etag;
  return (
    <>
      <TextField
        label="Description"
        value={input['description'] ?? policy.description}
        onChange={(value) => set('description', value, versionOf(policy))}
      />
      <DocumentEditor
        value={text ?? pretty(policy.policyDocumentJson)}
        revision={`${shownVersion.current} ${form.discards}`}
        onChange={(value) => {
          set('policyDocumentJson', value, versionOf(policy));
          form.clearError();
        }}
        serverError={form.error}
      />
    </>
  );
}

function PolicyActions(props: { policy: Tagged<Policy>; form: PolicyForm; conflict: boolean }): JSX.Element {
  const { policy, form, conflict } = props;
  const { name, description, policyDocument } = policy;
  const { changed, base } = form.draft;
  const fixed = isPredefined(policy);
  const may = useMayOn();
  return (
    <footer class="row">
      {may('UpdatePolicy', name) && (
        <BusyButton
          class="primary"
          onPress={() => form.save(policy, base?.etag ?? policy.etag)}
          disabled={fixed || !changed || conflict}
        >
          Save
        </BusyButton>
      )}
      {changed && !conflict && (
        <button type="button" onClick={form.discard}>
          Discard changes
        </button>
      )}
      {may('DeletePolicy', name) && (
        <DangerButton
          label="Delete the policy"
          consequence={`The policy \`${name}\` is deleted. A policy that a role uses cannot be deleted.`}
          typed={name}
          disabled={fixed}
          onConfirm={form.remove}
        />
      )}
      <CopyAs
        call={{ method: 'POST', path: rbac('/policies'), body: { name, description, policyDocument } }}
        manifest={() => policyManifest(policy)}
      />
    </footer>
  );
}

function PolicyDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const path = rbac(`/policies/${encodeSrn(`srn2:policy#${props.name}`)}`);
  const form = usePolicyForm(path, props.name, props.onChanged);
  return (
    <Loaded data={form.data} what="the policy">
      {(policy) => {
        const { base } = form.draft;
        const conflict = base !== undefined && base.etag !== policy.etag;
        return (
          <article class="card">
            <h2>
              <Name text={props.name} />
            </h2>
            <p>{visible(meaningOf(policy.policyDocument.statements))}</p>
            <Authorship resource={policy} />
            <PolicyFields policy={policy} form={form} />
            <PolicyChanges policy={policy} form={form} conflict={conflict} />
            {!conflict && <ErrorNote message={form.error} />}
            <PolicyRoles path={path} />
            <PolicyActions policy={policy} form={form} conflict={conflict} />
          </article>
        );
      }}
    </Loaded>
  );
}

export function PoliciesTab(): JSX.Element {
  const mayCreate = useSession().access['CreatePolicy'] !== undefined;
  const list = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  return (
    <MasterDetail
      what="Policies"
      one="policy"
      list={list}
      item={({ name, description }) => ({ name, note: description })}
      renderNew={mayCreate ? (onDone) => <NewPolicy onDone={onDone} /> : undefined}
      detail={(name) => <PolicyDetail key={name} name={name} onChanged={list.reload} />}
    />
  );
}
