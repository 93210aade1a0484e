// Writes diff/schema-data.ts, diff/default-data.ts, diff/testdata/kinds.ndjson and merges.ndjson: what Kubernetes' own code and the OpenAPI that its API
// server publishes say about the built-in types, at the version that the tests with real servers use. Needs go; `--check` only compares.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format, resolveConfig } from 'prettier';
import { goRun } from './e2e-build.mjs';
import { kubernetes, kubernetesModule } from './e2e-tools.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const say = (text) => process.stderr.write(`schema data: ${text}\n`);

const [description, corpus, merges] = await goRun(
  { module: kubernetesModule, sources: `${root}scripts/schema-data` },
  [[], ['corpus'], ['merges']],
  say,
);
const { kinds, types, defaults, differing } = JSON.parse(description);

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
const table = (name, type, object) => `export const ${name}: ${type} = ${JSON.stringify(sorted(object), null, 2)};\n`;
const texts = Object.fromEntries(
  Object.entries(types).map(([name, { atomic, fields }]) => [name, [...(atomic ? ['='] : []), ...fields].join(' ')]),
);

const schemaData = `/* eslint-disable max-lines -- a table */
/**
 * The shape of Kubernetes' built-in types: facts read by reflection from k8s.io/api, and from the OpenAPI that the API server publishes, at
 * version ${kubernetes}. Written by scripts/generate-schema-data.mjs, not edited by hand. Versions of kinds that no server has had since 1.22
 * are left out.
 *
 * One string per type, fields apart by spaces: \`name?:kind^%keys~mergeKey\`. \`?\` is omitempty. Kinds: b bool, i integer, f float, s string,
 * y bytes, q quantity, m quantity that is rounded up to thousandths, o integer-or-string, t time, u time with microseconds, d duration,
 * r anything, \`*x\` pointer, \`[x\` list, \`{x\` map, else the name of a type. \`~key\` is patchStrategy merge (no key: of scalars), \`^\` is
 * retainKeys, \`!\` replace. Server-side apply: \`%a,b\` owns the items of a list by keys, \`%\` those of a set, \`=\` a map as a whole (as first
 * word: wherever the type stands); all other lists as a whole, all other maps by member.
 */
${table('kinds', 'Readonly<Record<string, string>>', kinds)}
${table('types', 'Readonly<Record<string, string>>', texts)}`;

const defaultData = `/* eslint-disable max-lines -- a table */
import type { Json } from '#base';

/**
 * What the API server fills into an otherwise empty struct of each type, found by asking the code of Kubernetes ${kubernetes}. Written by
 * scripts/generate-schema-data.mjs, not edited by hand. What depends on other fields, or on where the struct stands, is in default-rules.ts:
 * of ${Object.keys(sorted(differing)).join(', ')} here is what holds in all places.
 */
${table('defaultData', 'Readonly<Record<string, Readonly<Record<string, Json>>>>', defaults)}`;

const config = await resolveConfig(`${root}diff/schema-data.ts`);
const files = {
  'diff/schema-data.ts': await format(schemaData, { ...config, parser: 'typescript' }),
  'diff/default-data.ts': await format(defaultData, { ...config, parser: 'typescript' }),
  'diff/testdata/kinds.ndjson': corpus,
  'diff/testdata/merges.ndjson': merges,
};
for (const [path, text] of Object.entries(files)) {
  if (!process.argv.includes('--check')) writeFileSync(`${root}${path}`, text);
  else if (readFileSync(`${root}${path}`, 'utf8') !== text) {
    say(`${path} is not what the generator writes`);
    process.exitCode = 1;
  }
}
