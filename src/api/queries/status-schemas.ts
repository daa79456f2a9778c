import { Type, type Static } from 'typebox';
import { StringEnum } from '../../resources/schema.ts';
import { RUN_STATES } from '../../results/runs/status.ts';
import { CLOSED } from './schemas.ts';

const EPOCH_MS = 'Epoch milliseconds.';

export const QueryStatus = Type.Object(
  {
    requestId: Type.String({ description: 'The id of the query in later paths.' }),
    brokerId: Type.String({ description: 'The gateway that runs or ran the query.' }),
    owner: Type.String({ description: 'SRN of the principal that submitted the query.' }),
    state: StringEnum(RUN_STATES, {
      description:
        '`queued`: waits for a free place. `running`: the engine runs the query. `storing`: rows arrive. `done`: the result can be read. `failed`, `cancelled`: nothing is stored.',
    }),
    sql: Type.Optional(
      Type.String({
        description:
          'The text as the gateway prints it, without conditions on rows and columns, at most 4,096 characters. Absent for results of releases before 0.2.',
      }),
    ),
    tables: Type.Array(Type.String(), { description: 'The tables that the query reads.' }),
    submissionTimeMs: Type.Integer({ description: EPOCH_MS }),
    startTimeMs: Type.Optional(Type.Integer({ description: `When the query left the queue. ${EPOCH_MS}` })),
    endTimeMs: Type.Optional(Type.Integer({ description: `When the query ended. ${EPOCH_MS}` })),
    elapsedMs: Type.Optional(
      Type.Integer({ description: 'Milliseconds from the submission to now, or to the end of the query.' }),
    ),
    numRowsResultSet: Type.Integer({ description: 'Rows so far; all rows when `done`.' }),
    bytes: Type.Integer({ description: 'Bytes of rows so far.' }),
    expirationTimeMs: Type.Optional(
      Type.Integer({ description: `When the result, or the state of a query without result, is deleted. ${EPOCH_MS}` }),
    ),
    nextOffsetParams: Type.Optional(
      Type.String({ description: 'The query string of the first page; present when `done` and not empty.' }),
    ),
    nextUrl: Type.Optional(
      Type.String({
        description: 'The first page, relative to the URL of the request; present when `done` and not empty.',
      }),
    ),
    downloads: Type.Optional(
      Type.Object(
        { jsonl: Type.String(), csv: Type.String(), arrow: Type.String(), parquet: Type.String() },
        { description: 'The whole result in each format, relative to the URL of the request; present when `done`.' },
      ),
    ),
    cancelRequested: Type.Optional(
      Type.Boolean({ description: 'True while another gateway, which runs the query, was asked to cancel it.' }),
    ),
    error: Type.Optional(
      Type.Object(
        {
          status: Type.Integer({ description: 'The HTTP status that a synchronous query would have got.' }),
          message: Type.String(),
          exceptions: Type.Optional(
            Type.Array(Type.Object({ errorCode: Type.Optional(Type.Integer()), message: Type.String() }), {
              description: "The engine's exceptions, at most 16.",
            }),
          ),
        },
        { description: 'Why there is no result.' },
      ),
    ),
    warnings: Type.Optional(Type.Array(Type.String(), { description: 'As in a page of the result.' })),
    damaged: Type.Optional(
      Type.String({ description: 'Why the result, or a part of it, cannot be read, as far as that is known.' }),
    ),
    brokerHost: Type.Optional(Type.String({ description: 'As in a page of the result.' })),
    brokerPort: Type.Optional(Type.Integer()),
  },
  { $id: 'QueryStatus', description: 'The state of a query whose result is stored.' },
);
export type QueryStatus = Static<typeof QueryStatus>;

export const StatusQuerystring = Type.Object(
  {
    wait: Type.Optional(
      Type.String({
        pattern: '^(?:[1-9]|[1-4]\\d|50)s$',
        examples: ['20s'],
        description:
          'Waits until the query has ended, at most so long: 1s to 50s. Where many clients wait already, the response comes at once.',
      }),
    ),
  },
  CLOSED,
);
export type StatusQuerystring = Static<typeof StatusQuerystring>;

export const MineQuerystring = Type.Object(
  {
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 1000, description: 'Maximum number of queries; 100 when omitted.' }),
    ),
    before: Type.Optional(
      Type.String({
        pattern: '^\\d{1,15}\\.[0-9a-fn-]{1,64}$',
        description: 'Continues a listing: the value in `nextParams` of the response before.',
      }),
    ),
  },
  CLOSED,
);
export type MineQuerystring = Static<typeof MineQuerystring>;

export const MyQueries = Type.Object(
  {
    queries: Type.Array(QueryStatus, { description: 'Newest first.' }),
    nextParams: Type.Optional(Type.String({ description: 'The query string for the next ones; absent at the end.' })),
    incomplete: Type.Optional(
      Type.Boolean({
        description:
          'True where a gateway with a store of its own did not respond, or where there are too many states to read all of them.',
      }),
    ),
  },
  { $id: 'MyQueries' },
);
export type MyQueries = Static<typeof MyQueries>;
