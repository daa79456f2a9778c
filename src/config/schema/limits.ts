import { Type } from 'typebox';
import { duration, integer, texts } from '../../platform/setting-schema.ts';

/** Limits of requests, queries and bodies. */
export const LIMITS_SETTINGS = {
  'max-connections': integer({
    description:
      'Open connections of clients, and at most half of the file descriptors that the process may open (`ulimit -n`): the other half is left for engine, stores, files and probes. A further connection replaces the one that has been without a request for the longest time, or is closed where all have one.',
    default: 4000,
    minimum: 16,
    maximum: 1_000_000,
  }),
  'max-connections-per-address': Type.Optional(
    integer({
      description:
        'The part of `max-connections` from one client address (for IPv6: per /64). Further ones are closed. Behind an ingress or a load balancer that is not transparent, all clients have one address: name it in `trust-proxy`, whose connections are not limited in this way.',
      computedDefault: 'half of the connections',
      minimum: 1,
      maximum: 1_000_000,
    }),
  ),
  'max-connections-per-caller': Type.Optional(
    integer({
      description:
        'The part of `max-connections` whose last request is of one caller, without those of `trust-proxy`. A request on a further one gets 429, and its connection is closed.',
      computedDefault: 'half of the connections',
      minimum: 1,
      maximum: 1_000_000,
    }),
  ),
  'min-body-rate': integer({
    description:
      'Bytes a second of a request body that a client must send on average, apart from ten seconds. A slower request gets 408, and its connection is closed. The time in which nobody reads the body does not count. 0: no minimum.',
    default: 1024,
    minimum: 0,
    maximum: 1_000_000_000,
  }),
  'min-reader-rate': integer({
    description:
      'Bytes a second of responses that a client must take from its connection on average, apart from thirty seconds. A slower client is disconnected. Only the time counts in which the gateway has bytes that the operating system does not take because the client does not read, not that in which the engine is slow. 0: no minimum; a client that reads nothing then holds a part of its response in memory, and a connection to the engine.',
    default: 1024,
    minimum: 0,
    maximum: 1_000_000_000,
  }),
  'max-failed-attempts': integer({
    description:
      'Failed logins per client address (for IPv6: per /64) and per access key per minute before further failures get 429. A valid service token, or a token that was checked within the last minute, is never affected.',
    default: 20,
    minimum: 1,
    maximum: 1_000_000,
  }),
  'max-requests-per-second': integer({
    description:
      'Sustained requests per second and caller. Bursts of up to ten seconds’ worth are allowed. Further requests get 429. 0: no limit.',
    default: 200,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'max-concurrent-queries': integer({
    description: 'Concurrent queries per caller. Further queries get 429. 0: no limit.',
    default: 64,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'max-concurrent-calls': integer({
    description:
      'Concurrent calls per caller that are forwarded to the controller, and as many to RBAC and health. Further calls wait; with 256 waiting calls they get 429. 0: no limit.',
    default: 24,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'max-pool-share': integer({
    description:
      'Percentage of the connections to one controller, broker or other gateway, and of the places to wait for one, that one caller may use. Further requests of the caller wait; waiting callers take turns.',
    default: 50,
    minimum: 1,
    maximum: 100,
  }),
  'query-timeout': duration({
    description: 'Time limit for a query until Pinot starts to respond. `0`: the default of the connection.',
    default: 0,
  }),
  'max-rows-per-query': integer({
    description:
      'Maximum rows in the response to a query, per caller. A query with a larger LIMIT gets 400; a response with more rows is aborted. 0: no limit.',
    default: 0,
    minimum: 0,
    maximum: 999_999_999,
  }),
  'max-answer-bytes': integer({
    description:
      'Maximum bytes of pages, lists of tables and passed-through responses in the memory of the gateway. Further requests wait, then get 503.',
    default: 134_217_728,
    minimum: 8_388_608,
    maximum: 68_719_476_736,
  }),
  'max-answer-bytes-per-caller': integer({
    description: 'Part of `max-answer-bytes` that the responses to one caller may use.',
    default: 33_554_432,
    minimum: 8_388_608,
    maximum: 68_719_476_736,
  }),
  'max-sql-bytes': integer({
    description: 'Maximum size of a SQL text, or of all texts of a request, in bytes. A larger one gets 400.',
    default: 262_144,
    minimum: 1024,
    maximum: 1_000_000,
  }),
  'max-sql-tokens': integer({
    description:
      'Maximum tokens (keywords, names, literals, operators) of a SQL text with the queries within its strings. A text with more gets 400.',
    default: 50_000,
    minimum: 100,
    maximum: 1_000_000,
  }),
  'max-sql-nesting': integer({
    description: 'Maximum nesting of parentheses, subqueries and function calls in a SQL text. A deeper text gets 400.',
    default: 150,
    minimum: 10,
    maximum: 200,
  }),
  'max-sql-tables': integer({
    description: 'Maximum table references in a SQL text. A text with more gets 400.',
    default: 1000,
    minimum: 1,
    maximum: 10_000,
  }),
  'max-sql-common-tables': integer({
    description: 'Maximum common table expressions in a SQL text. A text with more gets 400.',
    default: 500,
    minimum: 0,
    maximum: 10_000,
  }),
  'allowed-query-options': texts({
    description:
      'Names of query options that are passed to Pinot although the gateway does not know them, such as those of a newer version or of another distribution. First make sure that the option cannot make a query read other tables. Options that the gateway refuses, because they change what it checks, cannot be allowed. Where a caller may read a part of a table only, these options are refused. See [query-options.md](query-options.md).',
    default: [],
  }),
  'max-json-depth': integer({
    description: 'Maximum nesting of objects and arrays in a JSON body. A deeper body gets 400.',
    default: 64,
    minimum: 16,
    maximum: 1000,
  }),
  'max-json-values': integer({
    description:
      'Maximum values in a JSON body: objects, arrays, strings, numbers and literals together. A body with more gets 400.',
    default: 32_768,
    minimum: 1024,
    maximum: 10_000_000,
  }),
  'role-limits': texts({
    description:
      'Limits per role, each `role:limit=number` with limit `max-requests-per-second`, `max-concurrent-queries`, `max-concurrent-calls`, `query-timeout-ms` or `max-rows-per-query`. The most permissive limit of a caller’s roles applies.',
    default: [],
  }),
  'caller-limits': texts({
    description:
      'Limits per caller, each `name:limit=number` with the limits of `role-limits`. The name is `srn2:service-token#<name>` with the object name of a service token (its access key where the REST API created it), or `srn2:user#<id>`. A name without `srn2:` applies to the user and to the service token of this name; a name with it has priority. They override `role-limits`.',
    default: [],
  }),
};
