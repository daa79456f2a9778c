import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../lib/api.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { QueryStatus } from '../../lib/types.ts';
import { useDraft } from '../../lib/use-draft.ts';

export interface QueryText {
  readonly sql: string;
  /** Counts the texts that are set other than by typing. */
  readonly revision: number;
  /** The text was typed. */
  readonly type: (sql: string) => void;
  /** Replaces the text in the editor. */
  readonly replace: (sql: string) => void;
  /** Shows the text of a query of the user, as it was typed where this window knows that. */
  readonly show: (query: Pick<QueryStatus, 'requestId' | 'sql'>) => void;
  /** The text is that of a result. */
  readonly isOf: (requestId: string, sql: string) => void;
  /** The texts of the results of this window, the newest first. */
  readonly typed: readonly string[];
}

/** A result of this window, and its text as it was typed. */
interface TypedText {
  readonly requestId: string;
  readonly sql: string;
}

/** Maximum results and characters of texts that are kept. The gateway has the other texts, without comments. */
const MAX_TYPED = 20;
const MAX_CHARACTERS = 200_000;

function bounded(typed: readonly TypedText[]): readonly TypedText[] {
  let characters = 0;
  return typed.slice(0, MAX_TYPED).filter(({ sql }) => (characters += sql.length) <= MAX_CHARACTERS);
}

interface TypedTexts {
  readonly sql: string;
  readonly type: (sql: string) => void;
  /** The text in the editor at the time of the call. */
  readonly latest: () => string;
  /** The text of a result as it was typed; undefined if this window does not know it. */
  readonly typedFor: (requestId: string) => string | undefined;
  readonly keep: (requestId: string, sql: string) => void;
  readonly typed: readonly string[];
}

function useTypedTexts(): TypedTexts {
  const [sql = '', setSql, readSql] = useDraft<string>('query');
  // They are not part of the draft above, which is stored with each key press.
  const [typed, setTyped, readTyped] = useDraft<readonly TypedText[]>('queries');
  const typedFor = (id: string): string | undefined => readTyped()?.find(({ requestId }) => requestId === id)?.sql;
  return {
    sql,
    type: setSql,
    latest: () => readSql() ?? '',
    typedFor,
    typed: (typed ?? []).map((one) => one.sql),
    keep: (requestId, text) => {
      if (typedFor(requestId) === undefined) setTyped(bounded([{ requestId, sql: text }, ...(readTyped() ?? [])]));
    },
  };
}

/**
 * The text of the editor. It is not part of the address, which would be too long for some queries, and is kept in histories and logs: the address
 * has the id of the result. `sql` in the address of a link is shown once.
 */
export function useQueryText(): QueryText {
  const { query } = useLocation();
  const linked = query.get('sql');
  const result = query.get('result');
  const { sql, type, latest, typedFor, keep, typed } = useTypedTexts();
  const [revision, setRevision] = useState(0);
  /** The result whose text is in the editor, or was before the user typed. A reload keeps what was typed. */
  const followed = useRef(sql === '' ? null : result);
  const replace = (text: string): void => {
    type(text);
    setRevision((count) => count + 1);
  };
  const show: QueryText['show'] = (status) => {
    const text = typedFor(status.requestId) ?? status.sql;
    followed.current = status.requestId;
    if (text !== undefined) replace(text);
  };
  useEffect(() => {
    if (linked === null) return;
    followed.current = result;
    replace(linked);
    setQuery({ sql: undefined }, true);
  }, [linked]);
  // Back, Forward, or the link of a result.
  useEffect(() => {
    if (result === null || result === followed.current) return;
    const known = typedFor(result);
    if (known !== undefined) show({ requestId: result, sql: known });
    else if (latest() === '') void statusOf(result).then((status) => status && latest() === '' && show(status));
  }, [result]);
  const isOf = (requestId: string, text: string): void => {
    followed.current = requestId;
    keep(requestId, text);
  };
  return { sql, revision, type, replace, show, isOf, typed };
}

/** @returns undefined for a result that has expired or is that of somebody else: the error of its rows says so */
const statusOf = (requestId: string): Promise<QueryStatus | undefined> =>
  call<QueryStatus>(`/query/${encodeURIComponent(requestId)}`).catch(() => undefined);
