// Reads raw files of samples and the lake's with DuckDB, and prints of both, as JSON, what must be equal.
// usage: node duckdb_lake.js <folder of node_modules> <glob of raw files> <glob of lake files> [order]
'use strict';
const path = require('node:path');
const [modules, raw, lake, order] = process.argv.slice(2);
const { DuckDBInstance } = require(path.join(modules, '@duckdb', 'node-api'));

async function main() {
  const instance = await DuckDBInstance.create(':memory:');
  const db = await instance.connect();
  await db.run("SET memory_limit = '2GB'");
  const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
  const ask = (glob) => rows(`
    SELECT probe, count(*) AS rows, count(rtt_ns) AS replies, sum(rtt_ns)::VARCHAR AS rtt_sum, quantile_disc(rtt_ns, 0.99)::VARCHAR AS rtt_p99,
      sum(seq)::VARCHAR AS seq_sum, count(failure) AS failures, count(DISTINCT target) AS targets, epoch_us(min(time))::VARCHAR AS first, epoch_us(max(time))::VARCHAR AS last
    FROM read_parquet('${glob.replaceAll("'", "''")}', union_by_name = true, hive_partitioning = true) GROUP BY probe ORDER BY probe`);
  const answer = { raw: await ask(raw), lake: await ask(lake) };
  if (order) [answer.order] = await rows(`
    SELECT count(*) AS wrong FROM (
      SELECT target, path, time, lag((target, path, time)) OVER (PARTITION BY filename ORDER BY file_row_number) AS before
      FROM read_parquet('${lake.replaceAll("'", "''")}', filename = true, file_row_number = true, hive_partitioning = true)
    ) WHERE before > (target, path, time)`);
  console.log(JSON.stringify(answer));
}

main().catch((e) => { console.error(e); process.exit(1); });
