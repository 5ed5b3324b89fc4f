// Prints what DuckDB reads from the Parquet files of a folder:
//   node duckdb.js <node_modules> <folder>
const { createRequire } = require("node:module");
const path = require("node:path");
const [modules, folder] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(path.join(path.resolve(modules), "x.js"))("@duckdb/node-api");

(async () => {
  const connection = await (await DuckDBInstance.create(":memory:")).connect();
  const reader = await connection.runAndReadAll(
    `select count(*) as rows, count(rtt_ns) as received, sum(rtt_ns)::bigint as sum_ns, count(distinct target) as targets
     from read_parquet('${folder}/*.parquet')`);
  const row = reader.getRowObjects()[0];
  console.log(JSON.stringify(row, (_, v) => (typeof v === "bigint" ? Number(v) : v)));
})();
