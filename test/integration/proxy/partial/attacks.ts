/**
 * Texts that try to show something outside of a part of a table: `@t` is the table, `@T` its name in capital letters, `@o` a table that may be read as a whole.
 * Its columns are those of `COLUMNS`. A response has no more rows than the limit, so that a limit is above all rows where the order is not complete.
 */
export const ATTACKS: readonly string[] = `
# other spellings of columns and tables
SELECT secret FROM @t LIMIT 100000
SELECT SECRET FROM @t LIMIT 100000
SELECT "secret" FROM @t LIMIT 100000
SELECT "@t.secret" FROM @t LIMIT 100000
SELECT @t.secret FROM @t LIMIT 100000
SELECT @T.secret FROM @t LIMIT 100000
SELECT "@T.SECRET" FROM @t LIMIT 100000
SELECT "@t"."secret" FROM @t LIMIT 100000
SELECT x.secret FROM @t x LIMIT 100000
SELECT "x.secret" FROM @t x LIMIT 100000
SELECT "@t.@t.secret" FROM @t LIMIT 100000
SELECT "default.@t.secret" FROM "default".@t LIMIT 100000
SELECT "@t_OFFLINE.secret" FROM @t_OFFLINE LIMIT 100000
SELECT U&"secre\\0074" FROM @t LIMIT 100000
SELECT " secret" FROM @t LIMIT 100000
SELECT \`secret\` FROM @t LIMIT 100000
SELECT [secret] FROM @t LIMIT 100000
SELECT id FROM @T LIMIT 100000
SELECT id FROM "@t" LIMIT 100000
SELECT id FROM @t_OFFLINE LIMIT 100000
SELECT id FROM @t_REALTIME LIMIT 100000
SELECT id FROM "@t_OFFLINE" LIMIT 100000
SELECT id FROM "default".@t LIMIT 100000
SELECT id FROM "default.@t" LIMIT 100000
SELECT id FROM "default"."@t_OFFLINE" LIMIT 100000
SELECT id FROM "default".default.@t LIMIT 100000
SELECT id FROM "@t " LIMIT 100000
# aliases
SELECT id AS secret FROM @t ORDER BY secret LIMIT 100000
SELECT secret AS id FROM @t LIMIT 100000
SELECT id AS "@t.secret", "@t.secret" FROM @t LIMIT 100000
SELECT id AS @t, (@t).secret FROM @t LIMIT 100000
SELECT 'eu' AS region, id FROM @t LIMIT 100000
SELECT 'eu' region, count(*) FROM @t GROUP BY region LIMIT 100000
SELECT id, 'eu' AS "REGION" FROM @t LIMIT 100000
SELECT 1 AS level, 'it' AS region, id FROM @t LIMIT 100000
SELECT upper('eu') AS region, id FROM @t WHERE region = 'EU' LIMIT 100000
SELECT region AS level, level AS region FROM @t LIMIT 100000
SELECT "as"('eu', region), id FROM @t LIMIT 100000
SELECT id FROM @t WHERE "as"('eu', region) = 'eu' LIMIT 100000
SELECT id AS x FROM @t AS region LIMIT 100000
SELECT region.id FROM @t region LIMIT 100000
SELECT id FROM @t AS @o LIMIT 100000
SELECT id FROM @t AS x (secret, region) LIMIT 100000
SELECT secret FROM @t AS x (secret, a, b, c, d, e, f, g) LIMIT 100000
# clauses
SELECT id FROM @t WHERE secret = 'outside-1' LIMIT 100000
SELECT max(secret), min(secret), distinctcount(secret) FROM @t
SELECT count(*) FROM @t GROUP BY secret LIMIT 100000
SELECT count(*) FROM @t HAVING max(secret) > 'a'
SELECT id FROM @t ORDER BY secret LIMIT 100000
SELECT id, rank() OVER (ORDER BY secret) FROM @t LIMIT 100000
SELECT id, max(secret) OVER (PARTITION BY region) FROM @t LIMIT 100000
SELECT count(*) FILTER (WHERE secret > 'a') FROM @t
SELECT sum(amount) FILTER (WHERE region = 'jp') FROM @t
SELECT count(*) FILTER (WHERE 1 = 1), count(*) FROM @t
SELECT CASE WHEN secret > 'a' THEN 1 ELSE 0 END FROM @t LIMIT 100000
SELECT DISTINCT region FROM @t ORDER BY region LIMIT 100000
SELECT region, count(*) FROM @t GROUP BY region ORDER BY 1 LIMIT 100000
SELECT id FROM @t ORDER BY 7 LIMIT 100000
SELECT count(*) FROM @t GROUP BY 1
SELECT min(id), max(id), minmaxrange(id), count(*) FROM @t
SELECT distinctcount(id), distinctcounthll(region), distinctcountbitmap(id) FROM @t
SELECT mode(level), percentile(amount, 99), sum(amount), avg(amount) FROM @t
SELECT region, level FROM @t GROUP BY region, level ORDER BY region, level LIMIT 100000
SELECT id FROM @t QUALIFY row_number() OVER (ORDER BY id) < 5
SELECT id FROM @t ORDER BY id LIMIT 5, 10
SELECT id FROM @t ORDER BY id LIMIT 10 OFFSET 100000
SELECT id FROM @t ORDER BY id FETCH NEXT 10 ROWS ONLY
# predicates that mean the rest of the table
SELECT id FROM @t WHERE region = 'jp' LIMIT 100000
SELECT id FROM @t WHERE region = 'jp' OR 1 = 1 LIMIT 100000
SELECT id FROM @t WHERE 1 = 1) OR (1 = 1 LIMIT 100000
SELECT id FROM @t WHERE NOT (region = 'eu') LIMIT 100000
SELECT id FROM @t WHERE NOT NOT (region = 'jp' OR TRUE) LIMIT 100000
SELECT id FROM @t WHERE TRUE LIMIT 100000
SELECT id FROM @t WHERE 'true' LIMIT 100000
SELECT id FROM @t WHERE 1 LIMIT 100000
SELECT id FROM @t WHERE NULL OR TRUE LIMIT 100000
SELECT id FROM @t WHERE level LIMIT 100000
SELECT id FROM @t WHERE region IN ('jp') LIMIT 100000
SELECT id FROM @t WHERE region NOT IN ('eu', 'it') LIMIT 100000
SELECT id FROM @t WHERE region NOT IN ('eu') OR region IN ('us', 'jp') LIMIT 100000
SELECT id FROM @t WHERE region <> 'eu' AND region <> 'it' LIMIT 100000
SELECT id FROM @t WHERE region BETWEEN 'a' AND 'z' LIMIT 100000
SELECT id FROM @t WHERE region > 'eu' OR region < 'eu' LIMIT 100000
SELECT id FROM @t WHERE region IS NULL OR region IS NOT NULL LIMIT 100000
SELECT id FROM @t WHERE region LIKE '%' LIMIT 100000
SELECT id FROM @t WHERE regexp_like(region, '.*') LIMIT 100000
SELECT id FROM @t WHERE level > -99999999999999 LIMIT 100000
SELECT id FROM @t WHERE level < 99999999999999999999999 LIMIT 100000
SELECT id FROM @t WHERE level <> 2147483648 LIMIT 100000
SELECT id FROM @t WHERE level = 2147483648 OR level < 1e300 LIMIT 100000
SELECT id FROM @t WHERE level > 3.5 LIMIT 100000
SELECT id FROM @t WHERE level >= 3.5 AND level <= 3.6 LIMIT 100000
SELECT id FROM @t WHERE level = 3.5 LIMIT 100000
SELECT id FROM @t WHERE NOT level = 3.5 LIMIT 100000
SELECT id FROM @t WHERE level IN (1, 99999999999) LIMIT 100000
SELECT id FROM @t WHERE level NOT IN (99999999999) LIMIT 100000
SELECT id FROM @t WHERE level BETWEEN -1e30 AND 1e30 LIMIT 100000
SELECT id FROM @t WHERE amount = 0.1 OR amount <> 0.1 LIMIT 100000
SELECT id FROM @t WHERE amount > 'a' LIMIT 100000
SELECT id FROM @t WHERE level = '1' OR level = 'x' LIMIT 100000
SELECT id FROM @t WHERE region = 1 LIMIT 100000
SELECT id FROM @t WHERE region = level LIMIT 100000
SELECT id FROM @t WHERE region = region LIMIT 100000
SELECT id FROM @t WHERE id - id = 0 LIMIT 100000
SELECT id FROM @t WHERE tags = 'x' OR tags <> 'x' LIMIT 100000
SELECT id FROM @t WHERE tags IN ('x', 'y', 'z') LIMIT 100000
SELECT id FROM @t WHERE strcmp(region, 'jp') = 0 LIMIT 100000
SELECT id FROM @t WHERE CASE WHEN region = 'jp' THEN TRUE ELSE TRUE END LIMIT 100000
SELECT id FROM @t WHERE (region = 'jp') = TRUE LIMIT 100000
SELECT id FROM @t WHERE (region = 'jp') IS NOT NULL LIMIT 100000
SELECT id FROM @t WHERE region = 'eu' OR level < 4 AND region = 'us' OR region = 'jp' LIMIT 100000
SELECT id FROM @t /* WHERE */ WHERE region = 'jp' -- AND region = 'eu'
SELECT id FROM @t WHERE region = 'jp' /* LIMIT 100000
# a masked column
SELECT id FROM @t WHERE name = 'Ada' LIMIT 100000
SELECT id FROM @t WHERE name = 'aDA' OR name LIKE '%d%' LIMIT 100000
SELECT name, count(*) FROM @t GROUP BY name ORDER BY name LIMIT 100000
SELECT DISTINCT name FROM @t LIMIT 100000
SELECT max(name), min(name), distinctcount(name) FROM @t
SELECT id FROM @t ORDER BY name, id LIMIT 10
SELECT strcmp(name, 'ADA'), count(*) FROM @t GROUP BY strcmp(name, 'ADA') LIMIT 100000
SELECT "name" FROM @t WHERE regexp_like(name, '^[A-Z].*') LIMIT 100000
SELECT "@t.name" FROM @t LIMIT 100000
SELECT NAME FROM @t LIMIT 100000
SELECT name AS x FROM @t WHERE x = 'Ada' LIMIT 100000
SELECT name AS name FROM @t LIMIT 100000
SELECT count(*) FROM @t WHERE name IN ('Ada', 'aDA')
SELECT reverse(name) AS x, count(*) FROM @t GROUP BY x HAVING x > 'a' ORDER BY x LIMIT 100000
SELECT a.id FROM @t a JOIN @o b ON a.name = b.name LIMIT 100000
SELECT a.id FROM @t a JOIN @t b ON a.name = b.name WHERE b.id = 1 LIMIT 100000
SELECT id FROM @t WHERE name IN (SELECT name FROM @o) LIMIT 100000
# functions that read columns or tables by strings, or all rows
SELECT lookUp('@t', 'secret', 'id', id) FROM @o LIMIT 100000
SELECT "lookUp"('@t_OFFLINE', 'name', 'id', id) FROM @o LIMIT 100000
SELECT "look_Up"('default.@t', 'name', 'id', id) FROM @o LIMIT 100000
SELECT count(*) FROM @o WHERE in_subquery(id, 'SELECT idset(id) FROM @t') = 1
SELECT count(*) FROM @o WHERE in_Partitioned_Subquery(id, 'SELECT idset(id) FROM @t') = 1
SELECT idset(id) FROM @t
SELECT id_set(id, 'sizeThresholdInBytes=10') FROM @t
SELECT groovy('{"returnType":"STRING","isSingleValue":true}', 'arg0', secret) FROM @t LIMIT 10
SELECT distinctCountThetaSketch(id, '', 'secret = ''outside-5''', '$1') FROM @t
SELECT distinctCountThetaSketch(id, 'nominalEntries=64', 'region = ''jp''', '$1') FROM @t
SELECT jsonextractscalar('{"a":1}', '$.a', 'INT'), id FROM @t LIMIT 100000
SELECT jsonextractscalar(secret, '$.a', 'STRING', 'x') FROM @t LIMIT 100000
SELECT json_match(secret, '"$.a" = 1') FROM @t LIMIT 10
SELECT id FROM @t WHERE json_match(secret, '"$.a" = 1') LIMIT 100000
SELECT id FROM @t WHERE text_match(secret, 'outside*') LIMIT 100000
SELECT id FROM @t WHERE text_match(name, 'secret:outside*') LIMIT 100000
SELECT id FROM @t WHERE text_contains(secret, 'outside') LIMIT 100000
SELECT id FROM @t WHERE vectorSimilarity(amount, ARRAY[1.0, 2.0], 5) LIMIT 100000
SELECT id FROM @t WHERE vector_similarity(secret, ARRAY[1.0], 5) LIMIT 100000
SELECT clpDecode(secret) FROM @t LIMIT 100000
SELECT exprmax(secret, id) FROM @t
SELECT exprmin(id, name) FROM @t
SELECT arrayagg(secret, 'STRING'), arrayagg(id, 'INT') FROM @t
SELECT listagg(secret, ',') FROM @t
SELECT histogram(level, 0, 8, 8) FROM @t
SELECT firstwithtime(secret, id, 'STRING'), lastwithtime(level, id, 'INT') FROM @t
SELECT firstwithtime(name, id, 'STRING') FROM @t
SELECT mapvalue(secret, 'a', id) FROM @t LIMIT 100000
SELECT valuein(tags, 'x'), id FROM @t LIMIT 100000
SELECT stunion(secret) FROM @t
SELECT funnelcount(STEPS(region = 'jp', region = 'eu'), CORRELATE_BY(id)) FROM @t
SELECT distinctcountrawhll(region) FROM @t
SELECT filter_mv(tags, 'v = ''x'''), id FROM @t LIMIT 100000
SELECT segmentpartitionedistinctcount(id), segmentpartitioneddistinctcount(id) FROM @t
SELECT fasthll(secret) FROM @t
SELECT sumprecision(amount), avgvaluebitmap(id) FROM @t
SELECT inidset(id, 'x') FROM @t LIMIT 10
# properties of where rows are stored
SELECT $docId FROM @t LIMIT 100000
SELECT "$docId", "$segmentName", "$hostName" FROM @t LIMIT 10
SELECT "@t.$docId" FROM @t LIMIT 100000
SELECT @t.$segmentName FROM @t LIMIT 100000
SELECT max($docId) FROM @t
SELECT id FROM @t WHERE $docId < 10 LIMIT 100000
SELECT count(*) FROM @t GROUP BY $segmentName
SELECT id FROM @t ORDER BY $docId LIMIT 10
SELECT $DOCID FROM @t LIMIT 10
SELECT $partitionId FROM @t LIMIT 10
SELECT U&"\\0024docId" FROM @t LIMIT 10
SELECT * FROM @t a JOIN @t b USING ("$docId") LIMIT 100000
SELECT * FROM @t a JOIN @o b USING ("$docId", "$segmentName") LIMIT 100000
SELECT a.id FROM @t a JOIN @o b USING ("$hostName") LIMIT 100000
SELECT x FROM @t AS y ("$docId", x, c, d, e, f, g) LIMIT 100000
SELECT *, $docId FROM @t LIMIT 100000
# stars
SELECT * FROM @t LIMIT 100000
SELECT @t.* FROM @t LIMIT 100000
SELECT x.* FROM @t x LIMIT 100000
SELECT *, * FROM @t LIMIT 100000
SELECT id, @t.*, * FROM @t LIMIT 100000
SELECT count(*), count(@t.*) FROM @t
SELECT * EXCEPT (id) FROM @t LIMIT 100000
SELECT * EXCLUDE (id) FROM @t LIMIT 100000
SELECT * REPLACE (secret AS id) FROM @t LIMIT 100000
SELECT DISTINCT * FROM @t LIMIT 100000
TABLE @t LIMIT 100000
# more than one query
SELECT id FROM @t, @o LIMIT 100000
SELECT a.id FROM @t a, @t b WHERE a.id = b.id LIMIT 100000
SELECT a.id, b.id FROM @t a JOIN @t b ON a.id = b.id LIMIT 100000
SELECT a.id, b.id FROM @o a LEFT JOIN @t b ON a.id = b.id LIMIT 100000
SELECT a.id, b.id FROM @t a RIGHT JOIN @o b ON a.id = b.id LIMIT 100000
SELECT a.id, b.id FROM @t a FULL JOIN @o b ON a.id = b.id LIMIT 100000
SELECT a.id FROM @o a JOIN @t b ON a.id = b.id AND b.region = 'jp' LIMIT 100000
SELECT a.id FROM @o a JOIN @t b ON a.id = b.id AND b.secret = 'outside-1' LIMIT 100000
SELECT id FROM @o NATURAL JOIN @t LIMIT 100000
SELECT * FROM @t NATURAL JOIN @o LIMIT 100000
SELECT id FROM @t JOIN @o USING (id) LIMIT 100000
SELECT a.id FROM @t a JOIN @o b USING (secret) LIMIT 100000
SELECT id FROM @t JOIN @o USING (id, secret) LIMIT 100000
SELECT a.id FROM @o a SEMI JOIN @t b ON a.id = b.id LIMIT 100000
SELECT a.id FROM @o a LEFT ANTI JOIN @t b ON a.id = b.id LIMIT 100000
SELECT a.id FROM @o a ASOF JOIN @t b MATCH_CONDITION (a.id >= b.id) ON a.level = b.level LIMIT 100000
SELECT a.id FROM @o a CROSS JOIN LATERAL (SELECT id FROM @t b WHERE b.id = a.id) c LIMIT 100000
SELECT a.id FROM @o a, LATERAL (SELECT max(id) m FROM @t b WHERE b.level = a.level) c LIMIT 100000
SELECT a.id FROM @o a CROSS APPLY @t b LIMIT 100000
SELECT * FROM (SELECT * FROM @t) LIMIT 100000
SELECT * FROM (SELECT * FROM @t) x LIMIT 100000
SELECT id FROM (SELECT id, region FROM @t) x WHERE region = 'jp' LIMIT 100000
SELECT x FROM (SELECT id AS x FROM (SELECT id FROM @t) y) z LIMIT 100000
SELECT 'eu' AS region FROM (SELECT id FROM @t) x LIMIT 100000
SELECT id FROM (@t) LIMIT 100000
SELECT id FROM ((@t)) LIMIT 100000
SELECT id FROM (@t JOIN @o USING (id)) LIMIT 100000
SELECT id FROM @o UNION ALL SELECT id FROM @t LIMIT 100000
SELECT id FROM @t UNION SELECT id FROM @t LIMIT 100000
SELECT id FROM @o EXCEPT SELECT id FROM @t LIMIT 100000
SELECT id FROM @o MINUS SELECT id FROM @t LIMIT 100000
SELECT id FROM @o INTERSECT SELECT id FROM @t LIMIT 100000
(SELECT id FROM @o) UNION ALL (TABLE @t)
SELECT id FROM @o WHERE id IN (SELECT id FROM @t) LIMIT 100000
SELECT id FROM @o WHERE id NOT IN (SELECT id FROM @t) LIMIT 100000
SELECT id FROM @o WHERE EXISTS (SELECT 1 FROM @t WHERE region = 'jp') LIMIT 100000
SELECT id FROM @o o WHERE EXISTS (SELECT 1 FROM @t x WHERE x.id = o.id) LIMIT 100000
SELECT id FROM @o o WHERE id = (SELECT max(id) FROM @t x WHERE x.level = o.level) LIMIT 100000
SELECT (SELECT count(*) FROM @t), count(*) FROM @o
SELECT (SELECT max(secret) FROM @t), count(*) FROM @o
SELECT count(*) FROM @o WHERE level > ALL (SELECT level FROM @t)
SELECT count(*) FROM @o HAVING count(*) > (SELECT count(*) FROM @t)
SELECT id FROM @o ORDER BY (SELECT count(*) FROM @t), id LIMIT 100000
WITH x AS (SELECT * FROM @t) SELECT id FROM x LIMIT 100000
WITH @t AS (SELECT * FROM @t) SELECT id FROM @t LIMIT 100000
WITH @o AS (SELECT * FROM @t) SELECT id FROM @o LIMIT 100000
WITH x AS (SELECT id FROM @o), y AS (SELECT id FROM @t WHERE id IN (SELECT id FROM x)) SELECT * FROM y LIMIT 100000
WITH "cte 1" AS (SELECT id FROM @t) SELECT id FROM "cte 1" LIMIT 100000
WITH RECURSIVE x AS (SELECT id FROM @t UNION ALL SELECT id + 1 FROM x WHERE id < 3) SELECT id FROM x LIMIT 100000
VALUES ((SELECT count(*) FROM @t))
SELECT x FROM UNNEST(ARRAY(SELECT id FROM @t)) AS u (x) LIMIT 100000
SELECT id, x FROM @t CROSS JOIN UNNEST(tags) AS u (x) LIMIT 100000
SELECT id, sum(amount) OVER () FROM @t LIMIT 100000
SELECT id, count(*) OVER (PARTITION BY region) FROM @t LIMIT 100000
SELECT id, lag(id) OVER (ORDER BY id), row_number() OVER (ORDER BY id) FROM @t LIMIT 100000
SELECT gapfill(datetrunc('DAY', at), '1:MILLISECONDS:EPOCH', '0', '9', '1:DAYS', fill(id, 'FILL_PREVIOUS_VALUE')), id FROM @t LIMIT 100000
SELECT count(*) FROM (SELECT gapfill(at, '1:MILLISECONDS:EPOCH', '0', '9', '1:DAYS', timeserieson(id)), id FROM @t) LIMIT 100000
# statements, options and hints
EXPLAIN PLAN FOR SELECT id FROM @t
EXPLAIN PLAN WITHOUT IMPLEMENTATION FOR SELECT id FROM @t
EXPLAIN IMPLEMENTATION PLAN FOR SELECT id FROM @t
EXPLAIN PLAN INCLUDING ALL ATTRIBUTES FOR SELECT id FROM @t
DESCRIBE @t
DESCRIBE TABLE @t secret
SHOW TABLES
SHOW CREATE TABLE @t
INSERT INTO @o FROM FILE 's3://x'
SELECT id FROM @t FOR SYSTEM_TIME AS OF TIMESTAMP '2020-01-01 00:00:00' LIMIT 100000
SELECT id FROM @t TABLESAMPLE BERNOULLI (50) LIMIT 100000
SET useMultistageEngine = true; SET useMultistageEngine = false; SELECT id FROM @t LIMIT 100000
SET "USEMULTISTAGEENGINE" = ' true'; SELECT id FROM @t LIMIT 100000
SET skipUpsert = true; SELECT id FROM @t LIMIT 100000
SET enableNullHandling = true; SELECT id FROM @t WHERE region IS NULL LIMIT 100000
SET explainPlanVerbose = true; SELECT id FROM @t LIMIT 100000
SET trace = true; SELECT id FROM @t LIMIT 100000
SET useStarTree = false; SET numReplicaGroupsToQuery = 1; SELECT count(*) FROM @t
SET maxExecutionThreads = 1; SET minSegmentGroupTrimSize = 1; SELECT region, count(*) FROM @t GROUP BY region ORDER BY region LIMIT 100000
SET inPredicatePreSorted = true; SELECT id FROM @t WHERE region NOT IN ('us', 'eu') LIMIT 100000
SET skipIndexes = 'region=inverted'; SELECT id FROM @t LIMIT 100000
SET timeoutMs = 60000; SELECT id FROM @t LIMIT 100000
SET sampler = 'x'; SELECT id FROM @t LIMIT 100000
SET database = 'default'; SELECT id FROM @t LIMIT 100000
SELECT id FROM @t LIMIT 100000 OPTION(trace=true)
SELECT id FROM @t LIMIT 100000 OPTION(skipUpsert=true)
SELECT id FROM @t LIMIT 100000 OPTION(useMultistageEngine=false)
SELECT id FROM @t LIMIT 100000; SELECT id FROM @t LIMIT 100000
SELECT /*+ joinOptions(join_strategy='lookup') */ a.id FROM @o a JOIN @t b ON a.id = b.id LIMIT 100000
SELECT /*+ joinOptions(join_strategy = 'LookUp') */ a.id FROM @o a JOIN @t b ON a.id = b.id LIMIT 100000
SELECT /*+ joinOptions(join_strategy='dynamic_broadcast') */ a.id FROM @o a JOIN @t b ON a.id = b.id LIMIT 100000
SELECT /*+ aggOptions(is_skip_leaf_stage_group_by='true') */ region, count(*) FROM @t GROUP BY region LIMIT 100000
SELECT id FROM @t /*+ tableOptions(partition_key='id', partition_function='murmur', partition_size='2') */ LIMIT 100000
# errors
SELECT count(*) FROM @t WHERE cast(region AS INT) = 1
SELECT cast(region AS INT) FROM @t LIMIT 10
SELECT cast(secret AS INT) FROM @t LIMIT 10
SELECT nope FROM @t LIMIT 10
SELECT nope(id) FROM @t LIMIT 10
SELECT FROM @t
SELECT id FROM @t WHERE regexp_like(region, '(') LIMIT 10
SELECT sum(region) FROM @t
SELECT id FROM @t WHERE nope = 1 LIMIT 10
SELECT id / 0, mod(id, 0) FROM @t ORDER BY id LIMIT 100000
SELECT id AS nope FROM @t ORDER BY id LIMIT 10
`
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'));
