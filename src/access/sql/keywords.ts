/** All words that may be printed without quotes. */
export const KEYWORDS = [
  ...([
    'ABSENT',
    'ALL',
    'AND',
    'ANTI',
    'ANY',
    'APPLY',
    'ARRAY',
    'AS',
    'ASC',
    'ASOF',
    'ASYMMETRIC',
    'AT',
    'ATTRIBUTES',
  ] as const),
  ...(['BETWEEN', 'BOTH', 'BY', 'CASE', 'CHARACTER', 'CONDITIONAL', 'CROSS', 'CUBE', 'CURRENT', 'CURSOR'] as const),
  ...([
    'DATABASE',
    'DATE',
    'DEFAULT',
    'DESC',
    'DESCRIBE',
    'DISTINCT',
    'DOT',
    'ELSE',
    'EMPTY',
    'END',
    'ERROR',
    'ESCAPE',
  ] as const),
  ...([
    'EXCEPT',
    'EXCLUDE',
    'EXCLUDING',
    'EXISTS',
    'EXPLAIN',
    'FALSE',
    'FETCH',
    'FILTER',
    'FIRST',
    'FN',
    'FOLLOWING',
    'FOR',
    'FORMAT',
  ] as const),
  ...([
    'FROM',
    'FULL',
    'GROUP',
    'GROUPING',
    'HAVING',
    'IGNORE',
    'ILIKE',
    'IMPLEMENTATION',
    'IN',
    'INCLUDING',
    'INNER',
  ] as const),
  ...([
    'INTERSECT',
    'INTERVAL',
    'IS',
    'JOIN',
    'JSON',
    'KEY',
    'LAST',
    'LATERAL',
    'LEADING',
    'LEFT',
    'LIKE',
    'LIMIT',
    'LOCAL',
  ] as const),
  ...([
    'MAP',
    'MATCH_CONDITION',
    'MEMBER',
    'MINUS',
    'MULTISET',
    'NATURAL',
    'NEXT',
    'NO',
    'NOT',
    'NULL',
    'NULLS',
    'OBJECT',
    'OF',
  ] as const),
  ...([
    'OFFSET',
    'ON',
    'ONLY',
    'OR',
    'ORDER',
    'ORDINALITY',
    'OTHERS',
    'OUTER',
    'OVER',
    'PARTITION',
    'PASSING',
    'PLACING',
  ] as const),
  ...([
    'PIVOT',
    'PLAN',
    'PRECEDING',
    'PRECISION',
    'QUALIFY',
    'RANGE',
    'RECURSIVE',
    'RESPECT',
    'RETURNING',
    'RIGHT',
    'RLIKE',
    'ROLLUP',
  ] as const),
  ...([
    'ROW',
    'ROWS',
    'SCALAR',
    'SELECT',
    'SEMI',
    'SEPARATOR',
    'SET',
    'SETS',
    'SIMILAR',
    'SOME',
    'SYMMETRIC',
    'SYSTEM_TIME',
  ] as const),
  ...([
    'TABLE',
    'THEN',
    'TIES',
    'TIME',
    'TIMESTAMP',
    'TO',
    'TRAILING',
    'TRUE',
    'TYPE',
    'UNBOUNDED',
    'UNCONDITIONAL',
    'UNION',
  ] as const),
  ...([
    'UNIQUE',
    'UNKNOWN',
    'UNNEST',
    'USING',
    'VALUE',
    'VALUES',
    'VARYING',
    'WHEN',
    'WHERE',
    'WINDOW',
    'WITH',
    'WITHIN',
  ] as const),
  ...(['WITHOUT', 'WRAPPER', 'XML', 'ZONE'] as const),
] as const;

export type Keyword = (typeof KEYWORDS)[number];

/** Operators between two operands. */
export const BINARY_MARKS = ['=', '<', '>', '<=', '>=', '<>', '!=', '+', '-', '*', '/', '%', '||'] as const;

/** All operators and punctuation that may be printed. */
export const MARKS = ['(', ')', '[', ']', '{', '}', ',', ';', '.', ...BINARY_MARKS, '::', ':', '?'] as const;

export type Mark = (typeof MARKS)[number];

/** Time units, valid only where one is expected. */
export const TIME_UNITS: ReadonlySet<string> = new Set(
  (
    'NANOSECOND MICROSECOND MILLISECOND SECOND MINUTE HOUR DAY WEEK MONTH QUARTER YEAR DECADE CENTURY MILLENNIUM DOW DOY DAYOFWEEK DAYOFYEAR ISODOW ISOYEAR EPOCH ' +
    'SECONDS MINUTES HOURS DAYS WEEKS MONTHS QUARTERS YEARS FRAC_SECOND SQL_TSI_FRAC_SECOND SQL_TSI_MICROSECOND SQL_TSI_SECOND SQL_TSI_MINUTE SQL_TSI_HOUR ' +
    'SQL_TSI_DAY SQL_TSI_WEEK SQL_TSI_MONTH SQL_TSI_QUARTER SQL_TSI_YEAR MONDAY TUESDAY WEDNESDAY THURSDAY FRIDAY SATURDAY SUNDAY'
  ).split(' '),
);

/** Types that are keywords in some version; other types are printed as quoted names. */
export const TYPES: ReadonlySet<string> = new Set(
  (
    'BOOLEAN INTEGER INT BIGINT SMALLINT TINYINT REAL FLOAT DOUBLE DECIMAL DEC NUMERIC CHAR CHARACTER VARCHAR BINARY VARBINARY DATE TIME TIMESTAMP ANY VARIANT ' +
    'GEOMETRY UUID LONG BIG_DECIMAL STRING BYTES DATETIME'
  ).split(' '),
);

/** Constants used without parentheses. */
export const CONSTANTS: ReadonlySet<string> = new Set(
  (
    'TRUE FALSE UNKNOWN NULL CURRENT_CATALOG CURRENT_DATE CURRENT_PATH CURRENT_ROLE CURRENT_SCHEMA CURRENT_TIME CURRENT_TIMESTAMP CURRENT_USER ' +
    'LOCALTIME LOCALTIMESTAMP SESSION_USER SYSTEM_USER USER'
  ).split(' '),
);

/** Functions whose name is a keyword or a built-in function in some version; quoted, they would be parsed as a different function. */
export const BARE_FUNCTIONS: ReadonlySet<string> = new Set(
  (
    'ABS ACOS ANY_VALUE APPROX_COUNT_DISTINCT ARG_MAX ARG_MIN ASCII ASIN ATAN ATAN2 BITAND BITCOUNT BITNOT BITOR BITXOR BIT_AND BIT_OR BIT_XOR CBRT COS COT ' +
    'DAYOFMONTH DEGREES GROUPING_ID GROUP_ID INITCAP JSON_DEPTH JSON_INSERT JSON_KEYS JSON_LENGTH JSON_PRETTY JSON_REMOVE JSON_REPLACE JSON_SET ' +
    'JSON_STORAGE_SIZE JSON_TYPE LAST_DAY LISTAGG LOG10 MODE PI RADIANS RAND RAND_INTEGER ROUND SIGN SIN SINGLE_VALUE STDDEV TAN TYPEOF VARIANCE ARRAY ARRAY_AGG ARRAY_CONCAT_AGG AVG CARDINALITY CAST CEIL CEILING CHARACTER_LENGTH CHAR_LENGTH COALESCE COLLECT CONTAINS_SUBSTR CONVERT COUNT ' +
    'COVAR_POP COVAR_SAMP CUME_DIST CURRENT_TIME CURRENT_TIMESTAMP DATETIME DATETIME_DIFF DATETIME_TRUNC DATE_DIFF DATE_TRUNC DAYOFWEEK DAYOFYEAR DENSE_RANK ' +
    'ELEMENT EVERY EXP EXTRACT FIRST_VALUE FLOOR FUSION GROUPING GROUP_CONCAT HOUR INTERSECTION JSON_ARRAY JSON_ARRAYAGG JSON_EXISTS JSON_OBJECT ' +
    'JSON_OBJECTAGG JSON_QUERY JSON_VALUE LAG LAST_VALUE LEAD LN LOCALTIME LOCALTIMESTAMP LOWER MAP MAX MIN MINUTE MOD MONTH NTH_VALUE NTILE NULLIF ' +
    'OCTET_LENGTH OVERLAY PERCENTILE_CONT PERCENTILE_DISC PERCENT_RANK POSITION POWER QUARTER RANK REGR_COUNT REGR_SXX REGR_SYY REPLACE ROW_NUMBER SAFE_CAST ' +
    'SECOND SOME SQRT STDDEV_POP STDDEV_SAMP STRING_AGG SUBSTRING SUM TIMESTAMPADD TIMESTAMPDIFF TIMESTAMP_DIFF TIMESTAMP_TRUNC TIME_DIFF TIME_TRUNC ' +
    'TRANSLATE TRIM TRUNCATE TRY_CAST UPPER VAR_POP VAR_SAMP WEEK YEAR'
  ).split(' '),
);

/** Words that no version accepts as an unquoted name. */
export const RESERVED: ReadonlySet<string> = new Set(
  (
    'ANY AS CALL CASE CREATE CROSS CURRENT CURSOR DATE DEFINE DELETE DESCRIBE DISTINCT DROP EXCEPT EXPLAIN FETCH FROM FULL GRANT GROUP GROUPING HAVING IN INNER ' +
    'INSERT INTERSECT INTERVAL INTO JOIN LATERAL LEFT LIMIT MATCH_RECOGNIZE MERGE MINUS NATURAL NEW NEXT NULL OFFSET ON ORDER OUTER OVER PARTITION PATTERN ' +
    'RANGE RIGHT ROLLUP ROW ROWS SELECT SET SKIP SOME STREAM TABLE TABLESAMPLE THEN TIME TIMESTAMP UNION UNNEST UPDATE USING VALUES WHEN WHERE WINDOW WITH'
  ).split(' '),
);

/** Reserved words that are functions if `(` follows. */
export const RESERVED_FUNCTIONS: ReadonlySet<string> = new Set(['GROUPING', 'LEFT', 'RIGHT', 'SOME']);

/** Constructors that accept a query in parentheses. */
export const COLLECTIONS = ['ARRAY', 'MAP', 'MULTISET', 'CURSOR'] as const;
