import { Type, type Static, type TSchema } from 'typebox';
import { StringEnum } from '../../resources/schema.ts';
import { METADATA_FIELDS } from '../../results/rows/metadata.ts';
import { ErrorBody } from '../server/errors.ts';

const MAX_SQL_LENGTH = 1_000_000;

export const CLOSED = { additionalProperties: false } as const;

/** Errors of reading a result, also from the gateway that stores it. */
export const READ_ERRORS = {
  400: ErrorBody,
  401: ErrorBody,
  403: ErrorBody,
  404: ErrorBody,
  409: ErrorBody,
  410: ErrorBody,
  502: ErrorBody,
  503: ErrorBody,
  504: ErrorBody,
};

export const SubmitQuerystring = Type.Object(
  {
    doPaginate: Type.Optional(
      Type.Boolean({ description: 'True: stores the whole result and returns its first page.' }),
    ),
    getCursor: Type.Optional(Type.Boolean({ description: "The engine's spelling of `doPaginate`." })),
    async: Type.Optional(
      Type.Boolean({
        description:
          'True, with `doPaginate=true`: responds with 202 and the `requestId` at once; `GET /query/{requestId}` has the state of the query.',
      }),
    ),
    numRows: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Rows in the first page; `olap.broker.query.page.size` when omitted. Without effect with `async=true`, whose response has no page.',
      }),
    ),
  },
  CLOSED,
);

export const SubmitHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 255,
      examples: ['8e03978e-40d5-43e8-bc93-6894a57f9324'],
      description:
        'With `doPaginate=true`: 1 to 255 visible ASCII characters that the client chooses for this query, such as a UUID. A repeated request with the same key gets the same `requestId` and does not run the query again; with another query it gets 422, and while the first one is being submitted 409.',
    }),
  ),
});

const QUERY_FIELDS = {
  sql: Type.String({ minLength: 1, maxLength: MAX_SQL_LENGTH, description: 'The query.' }),
  queryOptions: Type.Optional(Type.String({ description: 'Query options of the engine, `key=value;key=value`.' })),
  debugOptions: Type.Optional(Type.String({ description: 'Debug options of the engine, `key=value;key=value`.' })),
};

/** A query in the query string, on paths without pagination. */
export const SqlTextQuerystring = Type.Object(
  { ...QUERY_FIELDS, trace: Type.Optional(Type.Boolean({ description: 'Requests a trace from the engine.' })) },
  CLOSED,
);

export const SqlQuerystring = Type.Object(
  { ...SubmitQuerystring.properties, ...SqlTextQuerystring.properties },
  CLOSED,
);

export const SqlBody = Type.Object(
  {
    ...QUERY_FIELDS,
    trace: Type.Optional(
      Type.Union([Type.Boolean(), Type.Literal('true'), Type.Literal('false')], {
        description: 'Requests a trace from the engine. The Go client writes it as a string.',
      }),
    ),
  },
  CLOSED,
);

export const PageQuerystring = Type.Object(
  {
    offset: Type.Integer({ minimum: 0, description: 'The first row of the page, from 0.' }),
    numRows: Type.Optional(
      Type.Integer({ minimum: 1, description: 'Rows in the page; clipped at the end of the result.' }),
    ),
  },
  CLOSED,
);

/** A page, whose offset is required, or a download. */
export const ResultsQuerystring = Type.Object(
  {
    offset: Type.Optional(
      Type.Integer({
        minimum: 0,
        description: 'The first row, from 0. Required for a page in JSON; a download begins with row 0 when omitted.',
      }),
    ),
    numRows: Type.Optional(
      Type.Integer({
        minimum: 1,
        description:
          'Number of rows, clipped at the end of the result. When omitted, a page has `olap.broker.query.page.size` rows, and a download all.',
      }),
    ),
    format: Type.Optional(
      StringEnum(['json', 'jsonl', 'csv', 'arrow', 'parquet'], {
        description:
          'The form of the response, in place of `Accept`; a page in JSON by default. In CSV, Arrow and Parquet the names of the columns are unique: each further column of a name has a suffix, such as `_1`.',
      }),
    ),
    types: Type.Optional(
      StringEnum(['text'], {
        description:
          'text: in Arrow and Parquet, TIMESTAMP, BIG_DECIMAL and MAP are texts as the engine writes them. No effect on other formats, which have only these texts.',
      }),
    ),
    links: Type.Optional(
      Type.Boolean({
        description:
          'true: a signed link by which the client reads the rows from the bucket, in place of the rows. Not with `format`. Requires a store in `s3` or `gcs` and `olap.broker.pagination.links.expiration`.',
      }),
    ),
  },
  CLOSED,
);
export type PageQuerystring = Static<typeof PageQuerystring>;

export const RequestIdParams = Type.Object({
  requestId: Type.String({ maxLength: 200, description: 'The `requestId` of the response to the submission.' }),
});
export type RequestIdParams = Static<typeof RequestIdParams>;

/** The gateway that stores a local result: `brokerHost` and `brokerPort` of the submission response. */
export const ForwardHeaders = Type.Object({
  forward_host: Type.Optional(
    Type.String({ description: '`brokerHost` of the submission: the gateway that stores the result.' }),
  ),
  forward_port: Type.Optional(Type.String({ description: '`brokerPort` of the submission.' })),
});

const ResultTable = Type.Object({
  dataSchema: Type.Object(
    {
      columnNames: Type.Array(Type.String(), {
        description: 'In the order of the columns, as the engine names them; a name may occur more than once.',
      }),
      columnDataTypes: Type.Array(Type.String()),
    },
    {
      description:
        'Both lists are empty where the engine names no columns: Pinot before 1.4 does not for a query that needs no server.',
    },
  ),
  rows: Type.Array(Type.Array(Type.Unknown()), {
    description: "Rows of values in the order of the columns, with the engine's spelling.",
  }),
});

export const CursorResponse = Type.Object(
  {
    resultTable: ResultTable,
    requestId: Type.String({ description: 'The id of the query in later paths.' }),
    brokerId: Type.String({ description: 'The gateway that stores the result.' }),
    numRowsResultSet: Type.Integer({ description: 'Rows in the whole result.' }),
    offset: Type.Integer({ description: 'The first row of this page.' }),
    numRows: Type.Integer({ description: 'Rows in this page.' }),
    nextOffsetParams: Type.Optional(
      Type.String({ description: 'The query string of the next page; absent on the last.' }),
    ),
    nextUrl: Type.Optional(
      Type.String({
        description:
          'Path and query string of the next page, to be resolved against the URL of the request (RFC 3986); absent on the last.',
      }),
    ),
    exceptions: Type.Array(Type.Unknown()),
    brokerHost: Type.Optional(Type.String({ description: 'Present where only this gateway can serve further pages.' })),
    brokerPort: Type.Optional(Type.Integer()),
    submissionTimeMs: Type.Integer({ description: 'Epoch milliseconds.' }),
    expirationTimeMs: Type.Integer({ description: 'When the result expires unless it is read. Epoch milliseconds.' }),
    bytesWritten: Type.Integer({ description: 'Bytes of the rows of the whole result.' }),
    cursorResultWriteTimeMs: Type.Integer({
      description:
        'Milliseconds from the submission until the result was stored, because rows are stored while the engine sends them; 0 for results of earlier releases.',
    }),
    cursorFetchTimeMs: Type.Integer({
      description: 'Always 0, for clients of Pinot that require it: a page has the same bytes each time.',
    }),
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description: "What the reader should know, such as that the engine's default limit may have cut the result.",
      }),
    ),
  },
  { $id: 'CursorResponse', description: "One page of a result. The engine's statistics follow as further fields." },
);

export const ResultLinks = Type.Object(
  {
    requestId: Type.String(),
    dataSchema: ResultTable.properties.dataSchema,
    numRowsResultSet: Type.Integer({ description: 'Rows in the whole result.' }),
    offset: Type.Integer({ description: 'The first row of the parts.' }),
    numRows: Type.Integer({ description: 'Rows in the parts.' }),
    url: Type.String({
      description:
        'The stored rows in the bucket. A credential: anyone who has the URL can read the rows until it expires.',
    }),
    expirationTimeMs: Type.Integer({ description: 'When `url` expires, epoch milliseconds.' }),
    coding: StringEnum(['identity', 'zstd'], {
      description: 'Of the bytes of each part: `zstd` is a sequence of zstd frames.',
    }),
    parts: Type.Array(
      Type.Object({
        offset: Type.Integer({ description: 'The first row of the part.' }),
        numRows: Type.Integer(),
        headers: Type.Object({ Range: Type.String() }, { description: 'Headers of the request for the part.' }),
        bytes: Type.Integer({ description: 'Bytes of the part as they are stored.' }),
        rowsStart: Type.Integer({ description: 'Offset of the first row in the part, after decompression.' }),
        rowsEnd: Type.Integer({ description: 'Offset of the end of the last row, or of a comma after it.' }),
        crc32: Type.Optional(
          Type.String({ description: 'CRC-32 of the part after decompression, 8 hexadecimal digits.' }),
        ),
      }),
      { description: 'At most 1,000. Rows are JSON arrays, separated by commas.' },
    ),
  },
  { $id: 'ResultLinks', description: 'Where a client reads rows of a result without the gateway.' },
);

export const QueryResponse = Type.Object(
  { resultTable: Type.Optional(ResultTable), exceptions: Type.Array(Type.Unknown()) },
  {
    $id: 'QueryResponse',
    description: "The engine's response, as it is: without `doPaginate=true`, and to a query that failed.",
  },
);

const EXAMPLES: Readonly<Record<string, TSchema>> = {
  '""': Type.String(),
  '[]': Type.Array(Type.Unknown()),
  '{}': Type.Object({}, { additionalProperties: true }),
  false: Type.Boolean(),
  '0': Type.Integer(),
};

export const QueryMetadata = Type.Object(
  Object.fromEntries(METADATA_FIELDS.map(([name, empty]) => [name, EXAMPLES[empty] ?? Type.Unknown()])),
  { $id: 'QueryMetadata', description: 'Metadata of a stored result: the response of the engine without the rows.' },
);

export const CursorMetadata = Type.Object(
  {
    requestId: Type.String(),
    brokerId: Type.String({ description: 'The gateway that stores the result.' }),
    numRowsResultSet: Type.Integer({ description: 'Rows in the whole result.' }),
    offset: Type.Integer(),
    numRows: Type.Integer(),
    submissionTimeMs: Type.Integer({ description: 'Epoch milliseconds.' }),
    expirationTimeMs: Type.Integer({ description: 'Epoch milliseconds.' }),
    bytesWritten: Type.Integer({ description: 'Size of the result in bytes.' }),
    tablesQueried: Type.Array(Type.String()),
    exceptions: Type.Array(Type.Unknown()),
    brokerHost: Type.Optional(Type.String({ description: 'Present where only this gateway can serve the result.' })),
    brokerPort: Type.Optional(Type.Integer()),
  },
  {
    $id: 'CursorMetadata',
    description: "Metadata of a stored result. The engine's statistics follow as further fields.",
  },
);

export const StoredResultListing = Type.Object(
  {
    resultMetadataList: Type.Array(
      Type.Object({
        requestId: Type.String(),
        brokerId: Type.String(),
        submissionTimeMs: Type.Integer({ description: 'Epoch milliseconds.' }),
        expirationTimeMs: Type.Integer({ description: 'Epoch milliseconds.' }),
        responseMetadata: Type.Array(
          Type.Object({
            type: Type.String(),
            numRows: Type.Integer(),
            dataFile: Type.String({ description: 'Location of the rows.' }),
            metadataFile: Type.String({ description: 'Location of the rest of the response.' }),
          }),
        ),
        owner: Type.String({ description: 'SRN of the principal that submitted the query.' }),
        bytes: Type.Integer({ description: 'Size of the result in bytes.' }),
        damaged: Type.Optional(
          Type.String({ description: 'Why the result cannot be read; absent for results without a known damage.' }),
        ),
      }),
    ),
  },
  { $id: 'StoredResultListing' },
);

export const ResultStoreUsage = Type.Object(
  {
    usedBytes: Type.Integer({ description: 'Bytes of the results that this gateway stored.' }),
    capacityBytes: Type.Union([Type.Integer(), Type.Null()], {
      description: 'Capacity of the store in bytes; null without a limit.',
    }),
    cleanerEnabled: Type.Boolean({
      description: 'Whether the storage cleaner enforces the quota; otherwise it is not enforced.',
    }),
    quotaBytes: Type.Integer({ description: 'Quota in bytes, enforced while the storage cleaner is enabled.' }),
    criticalPercent: Type.Number({ description: 'Percentage of the quota above which results are deleted.' }),
    targetPercent: Type.Number({ description: 'Percentage of the quota at which deletion ends.' }),
  },
  { $id: 'ResultStoreUsage' },
);
