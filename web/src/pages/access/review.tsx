import type { JSX } from 'preact';
import { LastUsed, Link, Loading, Name, Until } from '../../components/basics.tsx';
import { ErrorNote, Loaded } from '../../components/loaded.tsx';
import { CopyAs } from '../../components/copy-as.tsx';
import { PolicyLink, RoleLink, TokenLink } from '../../components/name-links.tsx';
import { Table } from '../../components/table.tsx';
import { call, rbac } from '../../lib/api.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { AccessReview, RoleAssignment } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { ListEnd, MAX_SHOWN, Search } from '../../components/master-detail.tsx';

const DAY_MS = 86_400_000;
const WITHIN_DAYS = ['1', '7', '30', '90'];
const UNUSED_DAYS = ['7', '30', '90', '180', '365'];
const DEFAULT_WITHIN = '30';
const DEFAULT_UNUSED = '90';

/** A choice of a number of days, which is part of the URL. */
function DaysField(props: {
  label: string;
  parameter: string;
  value: string;
  choices: readonly string[];
}): JSX.Element {
  const { label, parameter, value, choices } = props;
  return (
    <label class="inline">
      <span>{label}</span>
      <select value={value} onChange={(event) => setQuery({ [parameter]: event.currentTarget.value })}>
        {choices.map((count) => (
          <option key={count} value={count}>
            {count === '1' ? '1 day' : `${count} days`}
          </option>
        ))}
      </select>
    </label>
  );
}

/** The link to the decisions for a subject. */
function WhoCanLink(props: { subject: string; subjectType: string }): JSX.Element {
  const question = new URLSearchParams({ type: props.subjectType, subject: props.subject });
  return <Link to={`/who-can?${question.toString()}`}>Who can</Link>;
}

type EndingAssignment = RoleAssignment & { readonly expiresAt: string };

/** The assignments that end until a time (epoch milliseconds), the next one first. Expired ones are included until they are removed. */
function endingUntil(time: number, assignments: readonly RoleAssignment[]): EndingAssignment[] {
  const end = ({ expiresAt }: EndingAssignment): number => new Date(expiresAt).getTime();
  return assignments
    .flatMap((one) => (typeof one.expiresAt === 'string' ? [{ ...one, expiresAt: one.expiresAt }] : []))
    .filter((one) => end(one) <= time)
    .sort((a, b) => end(a) - end(b));
}

function EndingTable(props: { ending: readonly EndingAssignment[] }): JSX.Element | null {
  if (props.ending.length === 0) return null;
  return (
    <Table
      label="Assignments that expire soon"
      columns={['Subject', 'Kind', 'Role', 'Until', 'Last used', '(Decisions)']}
    >
      {props.ending.slice(0, MAX_SHOWN).map(({ subject, subjectType, role, expiresAt, lastUsedAt }) => (
        <tr key={`${role}/${subjectType}/${subject}`}>
          <td class="wrap">
            <Name text={subject} />
          </td>
          <td>{subjectType}</td>
          <td>
            <RoleLink role={role} />
          </td>
          <td>
            <Until time={expiresAt} />
          </td>
          <td>
            <LastUsed day={lastUsedAt} />
          </td>
          <td>
            <WhoCanLink subject={subject} subjectType={subjectType} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

function Expiring(): JSX.Element {
  const within = useLocation().query.get('within') ?? DEFAULT_WITHIN;
  const list = useData('assignments', (signal) => call<RoleAssignment[]>(rbac('/assignments'), { signal }));
  const ending = endingUntil(Date.now() + Number(within) * DAY_MS, list.value ?? []);
  return (
    <section class="card" aria-labelledby="expiring">
      <h2 id="expiring">Expires soon</h2>
      <div class="row search">
        <DaysField label="Within" parameter="within" value={within} choices={WITHIN_DAYS} />
      </div>
      <ErrorNote message={list.error} retry={list.reload} />
      {list.value === undefined && list.error === undefined && <Loading what="assignments" />}
      <EndingTable ending={ending} />
      <ListEnd shown={ending.length} loaded={list.value !== undefined} />
    </section>
  );
}

type UnusedEntry = AccessReview['unused'][number];

const KINDS: Record<UnusedEntry['kind'], string> = {
  role: 'Role',
  statement: 'Statement',
  assignment: 'Assignment',
  'service-token': 'Service token',
};

/** What an entry is about, with links to it. */
function About(props: { entry: UnusedEntry }): JSX.Element {
  const { kind, role = '', policy = '', statementIndex = 0, subject = '', subjectType, description } = props.entry;
  switch (kind) {
    case 'role':
      return <RoleLink role={role} />;
    case 'statement':
      return (
        <>
          {statementIndex + 1} of policy <PolicyLink policy={policy} />
        </>
      );
    case 'assignment':
      return (
        <>
          <Name text={subject} /> <span class="muted">{subjectType}</span> has <RoleLink role={role} />
        </>
      );
    case 'service-token':
      return (
        <>
          <TokenLink accessKey={subject} />{' '}
          <span class="muted">
            <Name text={description ?? ''} />
          </span>
        </>
      );
  }
}

function textOf({ kind, role, policy, subject, subjectType, description }: UnusedEntry): string {
  return [KINDS[kind], role, policy, subject, subjectType, description].join(' ').toLowerCase();
}

function UnusedTable(props: { review: AccessReview; wanted: string }): JSX.Element {
  const { review, wanted } = props;
  const shown = review.unused.filter((entry) => textOf(entry).includes(wanted));
  return (
    <>
      <p class="muted">
        Use is recorded since {review.trackedSince}.
        {!review.complete && ` The record is younger than ${review.unusedDays} days: not everything can be listed yet.`}
      </p>
      {shown.length > 0 && (
        <Table label="What nobody used" columns={['Kind', 'What', 'Last used', 'Unused since', '(Decisions)']}>
          {shown.slice(0, MAX_SHOWN).map((entry) => (
            <tr key={textOf(entry) + String(entry.statementIndex)}>
              <td>{KINDS[entry.kind]}</td>
              <td class="wrap">
                <About entry={entry} />
              </td>
              <td>
                <LastUsed day={entry.lastUsedAt} />
              </td>
              <td>{entry.unusedSince}</td>
              <td>
                {entry.subject !== undefined && (
                  <WhoCanLink subject={entry.subject} subjectType={entry.subjectType ?? 'service-token'} />
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      <ListEnd shown={shown.length} loaded />
    </>
  );
}

function UnusedAccess(): JSX.Element {
  const { query } = useLocation();
  const unusedDays = query.get('unusedDays') ?? DEFAULT_UNUSED;
  const path = rbac(`/access-review?${new URLSearchParams({ unusedDays }).toString()}`);
  const data = useData(`review/${unusedDays}`, (signal) => call<AccessReview>(path, { signal }));
  return (
    <section class="card" aria-labelledby="unused">
      <h2 id="unused">Not used</h2>
      <div class="row search">
        <DaysField label="For at least" parameter="unusedDays" value={unusedDays} choices={UNUSED_DAYS} />
        <Search what="Unused access" />
      </div>
      <Loaded data={data} what="the review">
        {(review) => <UnusedTable review={review} wanted={(query.get('search') ?? '').toLowerCase()} />}
      </Loaded>
      <div class="row">
        <CopyAs call={{ method: 'GET', path }} />
      </div>
    </section>
  );
}

/** What expires soon, and what nobody used. */
export function ReviewTab(): JSX.Element {
  return (
    <>
      <Expiring />
      <UnusedAccess />
    </>
  );
}
