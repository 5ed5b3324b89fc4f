// Reads Parquet files with DuckDB and prints, as JSON, what a test compares with its own sums. The
// metadata are the first file's; a column that no file has is null.
// usage: node duckdb.js <folder of node_modules> <file> …
'use strict';
const path = require('node:path');
const [modules, ...files] = process.argv.slice(2);
const [file] = files;
const { DuckDBInstance } = require(path.join(modules, '@duckdb', 'node-api'));

async function main() {
  const instance = await DuckDBInstance.create(':memory:');
  const db = await instance.connect();
  const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
  const list = files.map((f) => `'${f.replaceAll("'", "''")}'`).join(', ');
  const lake = `read_parquet([${list}], union_by_name = true)`;
  const known = new Set((await rows(`SELECT column_name FROM (DESCRIBE SELECT * FROM ${lake})`)).map((r) => r.column_name));
  const absent = ['client_ns', 'dns_ns', 'connect_ns', 'tls_ns', 'first_byte_ns'].filter((c) => !known.has(c));
  const source = `(SELECT *${absent.map((c) => `, NULL::BIGINT AS ${c}`).join('')} FROM ${lake})`;
  await db.run("SET TimeZone = 'America/New_York'"); // an instant must not depend on it
  const [sums] = await rows(`
    SELECT count(*) AS rows, sum(rtt_ns)::VARCHAR AS rtt_sum, min(rtt_ns)::VARCHAR AS rtt_min, max(rtt_ns)::VARCHAR AS rtt_max,
      count(*) - count(rtt_ns) AS rtt_nulls, count(*) - count(sent_ns) AS sent_nulls, count(*) - count(server_ns) AS server_nulls,
      count(*) - count(forward_ns) AS forward_nulls, count(failure) AS failures, sum(client_ns)::VARCHAR AS client_sum, sum(forward_ns)::VARCHAR AS forward_sum,
      sum(reverse_ns)::VARCHAR AS reverse_sum, sum(dns_ns)::VARCHAR AS dns_sum, sum(connect_ns)::VARCHAR AS connect_sum, sum(tls_ns)::VARCHAR AS tls_sum,
      sum(first_byte_ns)::VARCHAR AS first_byte_sum, sum(due_ns)::VARCHAR AS due_sum,
      epoch_us(min(time))::VARCHAR AS time_min_us, epoch_us(max(time))::VARCHAR AS time_max_us, typeof(any_value(time)) AS time_type
    FROM ${source}`);
  const types = await rows(`SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM ${lake})`);
  const schema = await rows(`SELECT name, type, logical_type FROM parquet_schema('${file}') WHERE type IS NOT NULL`);
  const groups = await rows(`SELECT DISTINCT row_group_id, row_group_num_rows, compression FROM parquet_metadata('${file}') ORDER BY 1`);
  const [meta] = await rows(`SELECT created_by, num_rows, num_row_groups FROM parquet_file_metadata('${file}')`);
  const targets = await rows(`SELECT target, count(*) AS n FROM ${source} GROUP BY target ORDER BY target`);
  console.log(JSON.stringify({ sums, types, schema, groups, meta, targets }));
}

main().catch((e) => { console.error(e); process.exit(1); });
