// Writes what the chart says twice from where it is said once:
//   charts/driftless/values.yaml (its comments)  -> values.schema.json, and the table of values in README.md
//   cli/options.ts (THE table of options)         -> templates/_environment.tpl, the table of parameters in README.md, known keys in the schema
//   manifests/crds/                               -> files/crds/
// With --check it writes nothing, names what is stale, and exits with 1. Needs `npm ci` only.
import { readdirSync, readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { load } from 'js-yaml';
import { format, resolveConfig } from 'prettier';
import ts from 'typescript';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const chart = join(root, 'charts', 'driftless');
const check = process.argv.includes('--check');

/** Keys of argocd-cmd-params-cm that Argo CD mounts as files, for what is not here: allowed, so that a values file can stay. */
const foreign = ['controller.profile.enabled'];

const scalar = { type: ['string', 'number', 'boolean'] };
const texts = { type: 'object', additionalProperties: { type: [...scalar.type, 'null'] } };
const keysOfMaps = { pattern: '^[-._a-zA-Z0-9]+$' };

/** Values of the community chart's `controller` that this one lacks: as they are by default they ask for nothing. */
const switchedOff = {
  clusterRoleRules: {
    description: 'Not here: rbac.clusterWrite with a list, or rbac.extraClusterRules.',
    type: 'object',
    properties: { enabled: { const: false } },
  },
  roleRules: { description: 'Not here: rbac.extraRoleRules.', type: 'array', maxItems: 0 },
  vpa: { description: 'Not here: extraObjects.', type: 'object', properties: { enabled: { const: false } } },
};

/** One documented value: everything below it is its default. */
function readValues(text) {
  const entries = [];
  const groups = [];
  const stack = [];
  let comment = { words: [], schema: undefined };
  let inside = -1;
  for (const [index, line] of text.split('\n').entries()) {
    const at = (why) => new Error(`charts/driftless/values.yaml:${index + 1}: ${why}`);
    if (line.trim() === '') comment = { words: [], schema: undefined };
    const said = /^ *# ?(.*)$/.exec(line)?.[1];
    if (said !== undefined) {
      if (said.startsWith('-- ')) comment.words = [said.slice(3)];
      else if (said === '@schema texts') comment.schema = texts;
      else if (said.startsWith('@schema ')) comment.schema = load(said.slice(8));
      else if (comment.words.length > 0) comment.words.push(said);
      continue;
    }
    const [, space, key, rest] = /^( *)([^\s:#-][^:]*):(.*)$/.exec(line) ?? [];
    if (key === undefined || (inside >= 0 && space.length > inside)) continue;
    inside = -1;
    while (stack.length > 0 && stack.at(-1).depth >= space.length) stack.pop();
    const path = [...stack.map((level) => level.key), key];
    if (comment.words.length > 0) {
      entries.push({ path, words: comment.words.join(' '), schema: comment.schema ?? {} });
      inside = space.length;
    } else if (rest.trim() === '') {
      groups.push(path);
      stack.push({ key, depth: space.length });
    } else throw at(`${path.join('.')} has no description ("# -- …" above it)`);
    comment = { words: [], schema: undefined };
  }
  return { entries, groups };
}

function valueAt(values, path) {
  return path.reduce((value, key) => value[key], values);
}

function typeOf(value) {
  if (value === null) return {};
  if (Array.isArray(value)) return { type: 'array' };
  if (typeof value === 'number') return { type: Number.isInteger(value) ? 'integer' : 'number' };
  return { type: typeof value };
}

function schemaOf({ entries, groups }, values, options) {
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    $comment: 'Written by scripts/generate-chart-docs.mjs from values.yaml: change it there.',
    title: 'Values of the chart driftless',
    type: 'object',
    additionalProperties: false,
    properties: {
      enabled: { description: 'For charts that depend on this one with a condition.', type: 'boolean' },
    },
  };
  const parent = (path) => path.slice(0, -1).reduce((node, key) => node.properties[key], schema);
  for (const path of groups)
    parent(path).properties[path.at(-1)] = { type: 'object', additionalProperties: false, properties: {} };
  for (const { path, words, schema: more } of entries)
    parent(path).properties[path.at(-1)] = { description: words, ...typeOf(valueAt(values, path)), ...more };
  // A chart above this one may put its own things there: what is unknown is refused by a template, which sees whether there is one.
  schema.properties.global.additionalProperties = true;
  schema.properties.global.properties.networkPolicy.properties.defaultDenyIngress = {
    description: 'Not here: it would be a rule about pods of others.',
    const: false,
  };
  Object.assign(schema.properties.controller.properties, switchedOff);
  const known = [
    ...options
      .map(({ key }) => key)
      .filter((key) => key?.startsWith('P:'))
      .map((key) => key.slice(2)),
    ...foreign,
  ];
  Object.assign(schema.properties.configs.properties.params, {
    additionalProperties: scalar,
    propertyNames: {
      ...keysOfMaps,
      $comment:
        'Keys that begin with controller. must be known: a typing error would have no effect, and nobody would notice.',
      anyOf: [
        { enum: known.filter((key) => key.startsWith('controller.')).sort() },
        { not: { pattern: '^controller\\.' } },
      ],
    },
  });
  Object.assign(schema.properties.configs.properties.cm, { additionalProperties: scalar, propertyNames: keysOfMaps });
  return schema;
}

const cell = (text) => String(text).replaceAll('|', '\\|').replaceAll('\n', ' ');

function valuesTable({ entries }, values) {
  const rows = entries.map(({ path, words }) => {
    const value = valueAt(values, path);
    const shown = JSON.stringify(value);
    const short = shown.length > 60 ? 'see values.yaml' : `\`${shown}\``;
    return `| \`${path.join('.')}\` | ${cell(short)} | ${cell(words)} |`;
  });
  return ['| value | default | what it does |', '|---|---|---|', ...rows].join('\n');
}

function defaultText({ kind, default: value }) {
  if (kind === 'seconds' && value % 1000 === 0) return String(value / 1000);
  if (kind === 'seconds' || kind === 'duration') return value % 1000 === 0 ? `${value / 1000}s` : `${value}ms`;
  if (kind === 'csv') return value.join(',');
  if (kind === 'map') return '';
  return String(value);
}

function paramsTable(options) {
  const rows = options
    .filter(({ key }) => key !== undefined)
    .map((option) => {
      const [where, name] = [option.key[0] === 'P' ? 'configs.params' : 'configs.cm', option.key.slice(2)];
      const effect = option.noEffect === undefined ? '' : ` No effect yet: ${option.noEffect}.`;
      const fallback = defaultText(option);
      return `| \`${where}."${name}"\` | ${fallback === '' ? '' : `\`${cell(fallback)}\``} | ${cell(option.help)}${cell(effect)} | \`--${option.flag}\` |`;
    });
  return ['| value | default | what it does | flag |', '|---|---|---|---|', ...rows].join('\n');
}

function environmentTemplate(options, globals) {
  const entries = options
    .filter(({ env, key }) => env !== undefined && key !== undefined)
    .map(({ env, key }) =>
      [
        `- name: ${env}`,
        '  valueFrom:',
        '    configMapKeyRef:',
        `      name: ${key.startsWith('P:') ? 'argocd-cmd-params-cm' : 'argocd-cm'}`,
        `      key: ${key.slice(2)}`,
        '      optional: true',
      ].join('\n'),
    );
  const reads = options.filter(({ key }) => key?.startsWith('C:')).map(({ key }) => JSON.stringify(key.slice(2)));
  return `{{- /* Written by scripts/generate-chart-docs.mjs from cli/options.ts: change it there. */ -}}
{{- /* The environment that Argo CD's manifests fill from its two ConfigMaps. */ -}}
{{- define "driftless.environment" -}}
${entries.join('\n')}
{{- end }}
{{- /* What the values of all charts may say. */ -}}
{{- define "driftless.globalKeys" -}}
${JSON.stringify(globals)}
{{- end }}
{{- /* Keys of argocd-cm that come as environment, so that a change of them needs new pods. */ -}}
{{- define "driftless.environmentKeysOfCm" -}}
${JSON.stringify(reads.map((text) => JSON.parse(text)))}
{{- end }}
`;
}

async function readOptions() {
  const module = await import(moduleOf('options.ts'));
  return Object.values(module.runOptions);
}

/** A file of cli/ as a module of its own, with the tables that it imports; what it imports of types only is gone by then. */
function moduleOf(file) {
  const { outputText } = ts.transpileModule(readFileSync(join(root, 'cli', file), 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 },
  });
  const whole = outputText.replaceAll(/(?<=from ')\.\/([^']+)(?=')/g, (_, other) => moduleOf(other));
  return `data:text/javascript;base64,${Buffer.from(whole).toString('base64')}`;
}

function between(text, name, content) {
  const [begin, end] = [`<!-- ${name}: written by scripts/generate-chart-docs.mjs -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`charts/driftless/README.md lacks the lines "${begin}" and "${end}"`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
}

async function pretty(path, text) {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
}

let stale = 0;
function put(path, text) {
  let before = '';
  try {
    before = readFileSync(path, 'utf8');
  } catch {
    // It is not there yet.
  }
  if (before === text) return;
  if (!check) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return;
  }
  process.stderr.write(
    `${relative(root, path)} is not what scripts/generate-chart-docs.mjs writes: run it and commit the result.\n`,
  );
  stale += 1;
}

const valuesText = readFileSync(join(chart, 'values.yaml'), 'utf8');
const values = load(valuesText);
const documented = readValues(valuesText);
const options = await readOptions();
const schemaPath = join(chart, 'values.schema.json');
put(schemaPath, await pretty(schemaPath, JSON.stringify(schemaOf(documented, values, options), null, 2)));
const globals = Object.keys(values.global).sort();
put(join(chart, 'templates', '_environment.tpl'), environmentTemplate(options, globals));
const readmePath = join(chart, 'README.md');
const readme = readFileSync(readmePath, 'utf8');
put(
  readmePath,
  between(between(readme, 'values', valuesTable(documented, values)), 'parameters', paramsTable(options)),
);
for (const name of readdirSync(join(root, 'manifests', 'crds')))
  put(join(chart, 'files', 'crds', name), readFileSync(join(root, 'manifests', 'crds', name), 'utf8'));
process.exitCode = stale === 0 ? 0 : 1;
