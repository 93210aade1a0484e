// Writes the derived files of the chart:
//   charts/driftless/values.yaml (comments) -> values.schema.json, table of values in README.md
//   cli/options/ -> templates/_environment.tpl, table of parameters in README.md, known keys in the
//                   schema
//   manifests/crds/ -> files/crds/
// With --check it writes nothing, names stale files and exits with 1 if there are any. Needs only
// `npm ci`.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { format, resolveConfig } from 'prettier';
import { put } from './generated.mjs';
import { environmentDefault, readOptions } from './option-table.mjs';
import { root } from '../root.mjs';

const chart = join(root, 'charts', 'driftless');

/**
 * Keys of argocd-cmd-params-cm without effect here. The schema allows them, so that values files of
 * the community chart work unchanged.
 */
const foreign = ['controller.profile.enabled'];

const scalar = { type: ['string', 'number', 'boolean'] };
const texts = { type: 'object', additionalProperties: { type: [...scalar.type, 'null'] } };
const keysOfMaps = { pattern: '^[-._a-zA-Z0-9]+$' };

/** Values of the community chart's `controller` that this chart lacks: only their defaults pass. */
const switchedOff = {
  clusterRoleRules: {
    description: 'Not here: rbac.clusterWrite with a list, or rbac.extraClusterRules.',
    type: 'object',
    properties: { enabled: { const: false } },
  },
  roleRules: { description: 'Not here: rbac.extraRoleRules.', type: 'array', maxItems: 0 },
  vpa: { description: 'Not here: extraObjects.', type: 'object', properties: { enabled: { const: false } } },
};

/**
 * Reads the documented values and their groups. Everything below a documented value is its default.
 */
function readValues(text) {
  const entries = [];
  const groups = [];
  const stack = [];
  let comment = { words: [], schema: undefined };
  let inside = -1;
  for (const [index, line] of text.split('\n').entries()) {
    const at = (why) => new Error(`charts/driftless/values.yaml:${index + 1}: ${why}`);
    if (line.trim() === '') comment = { words: [], schema: undefined };
    const remark = /^ *# ?(.*)$/.exec(line)?.[1];
    if (remark !== undefined) {
      readRemark(remark, comment);
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

/** A line of the comment above a value: its first line, a schema, or more text. */
function readRemark(remark, comment) {
  if (remark.startsWith('-- ')) comment.words = [remark.slice(3)];
  else if (remark === '@schema texts') comment.schema = texts;
  else if (remark.startsWith('@schema ')) comment.schema = load(remark.slice(8));
  else if (comment.words.length > 0) comment.words.push(remark);
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
    $comment: 'Written by scripts/generate/chart-docs.mjs from values.yaml: change it there.',
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
  // A parent chart may add its own globals. A template rejects unknown ones if there is no parent.
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
      $comment: 'Keys that begin with controller. must be known, because a typing error would silently have no effect.',
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

function paramsTable(options) {
  const rows = options
    .filter(({ key }) => key !== undefined)
    .map((option) => {
      const [where, name] = [option.key[0] === 'P' ? 'configs.params' : 'configs.cm', option.key.slice(2)];
      const effect = option.noEffect === undefined ? '' : ` No effect yet: ${option.noEffect}.`;
      const fallback = environmentDefault(option);
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
  return `{{- /* Written by scripts/generate/chart-docs.mjs from cli/options/: change it there. */ -}}
{{- /* Environment variables from Argo CD's two ConfigMaps, as in its own manifests. */ -}}
{{- define "driftless.environment" -}}
${entries.join('\n')}
{{- end }}
{{- /* Known keys of the values below global. */ -}}
{{- define "driftless.globalKeys" -}}
${JSON.stringify(globals)}
{{- end }}
{{- /* Keys of argocd-cm that become environment variables, so a change needs new pods. */ -}}
{{- define "driftless.environmentKeysOfCm" -}}
${JSON.stringify(reads.map((text) => JSON.parse(text)))}
{{- end }}
`;
}

function between(text, name, content) {
  const [begin, end] = [`<!-- ${name}: written by scripts/generate/chart-docs.mjs -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`charts/driftless/README.md lacks the lines "${begin}" and "${end}"`);
  return `${text.slice(0, from + begin.length)}\n\n${content}\n\n${text.slice(to)}`;
}

async function pretty(path, text) {
  return format(text, { ...(await resolveConfig(path)), filepath: path });
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
