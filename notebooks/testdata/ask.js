// Runs SQL with DuckDB and prints the last statement's rows as JSON; whole numbers are strings.
// usage: node ask.js <folder of node_modules> <file of statements, as a JSON list>
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const [modules, file] = process.argv.slice(2);
const { DuckDBInstance } = require(path.join(modules, '@duckdb', 'node-api'));

async function main() {
  const instance = await DuckDBInstance.create(':memory:');
  const db = await instance.connect();
  await db.run("SET memory_limit = '1GB'");
  const answers = {};
  for (const { id, sql } of JSON.parse(fs.readFileSync(file, 'utf8'))) {
    answers[id] = (await db.runAndReadAll(sql)).getRowObjectsJson();
  }
  console.log(JSON.stringify(answers));
}

main().catch((e) => { console.error(e); process.exit(1); });
