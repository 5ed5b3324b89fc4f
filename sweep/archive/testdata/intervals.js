// Reads a Parquet file with DuckDB and prints, as JSON, its columns and what they add up to.
// usage: node intervals.js <folder of node_modules> <file>
'use strict';
const path = require('node:path');
const [modules, file] = process.argv.slice(2);
const { DuckDBInstance } = require(path.join(modules, '@duckdb', 'node-api'));

async function main() {
  const instance = await DuckDBInstance.create(':memory:');
  const db = await instance.connect();
  const rows = async (sql) => (await db.runAndReadAll(sql)).getRowObjectsJson();
  const lake = `read_parquet('${file.replaceAll("'", "''")}')`;
  await db.run("SET TimeZone = 'America/New_York'"); // an instant must not depend on it
  const types = await rows(`SELECT column_name AS name, column_type AS type FROM (DESCRIBE SELECT * FROM ${lake})`);
  const numbers = types.filter((c) => c.type === 'BIGINT').map((c) => c.name);
  const [sums] = await rows(`SELECT ${numbers.map((c) => `sum(${c})::VARCHAR AS ${c}`).join(', ')} FROM ${lake}`);
  const [times] = await rows(`SELECT count(*)::VARCHAR AS rows, epoch_us(min(time))::VARCHAR AS first, epoch_us(max(time))::VARCHAR AS last FROM ${lake}`);
  const groups = await rows(`SELECT direction, count(*)::VARCHAR AS rows FROM ${lake} GROUP BY direction ORDER BY direction NULLS LAST`);
  const codecs = await rows(`SELECT DISTINCT compression FROM parquet_metadata('${file}')`);
  console.log(JSON.stringify({ types, sums, times, groups, codecs }));
}

main().catch((e) => { console.error(e); process.exit(1); });
