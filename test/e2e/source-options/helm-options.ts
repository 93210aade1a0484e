import type { JsonObject } from '#base';
import { optionsOf } from './option.ts';
import type { SourceOption } from './option.ts';

/** One parameter for each row: the name, the value, and whether it stays a text. */
const parameterTable: readonly (readonly [what: string, name: string, value: string, forceString?: boolean])[] = [
  ['plain', 'added', 'x'],
  ['a comma', 'schedule', '0 6,18 * * *'],
  ['an escaped comma', 'added', 'a\\,b,c'],
  ['commas and dollars', 'added', ',,,,$$$$'],
  ['a list', 'added', '{a,b c,1}'],
  ['a list, forced', 'added', '{1,2}', true],
  ['an empty list', 'added', '{}'],
  ['a list of lists', 'added', '{{a,b},{c}}'],
  ['! an open brace', 'added', '{a,b'],
  ['JSON', 'added', '{"k": [1, "x,y"]}'],
  ['brackets', 'added', '[1,2]'],
  ['a number', 'added', '1234567890123'],
  ['a number, forced', 'added', '880444307210', true],
  ['an exponent', 'added', '46510e90'],
  ['a float', 'added', '1.50'],
  ['a hexadecimal number', 'added', '0x10'],
  ['leading zeros', 'added', '007'],
  ['a truth', 'added', 'true'],
  ['a truth in capitals', 'added', 'TRUE'],
  ['a truth, forced', 'added', 'false', true],
  ['null', 'global', 'null'],
  ['null, forced', 'added', 'null', true],
  ['empty', 'added', ''],
  ['empty, forced', 'added', '', true],
  ['spaces', 'added', '  two words  '],
  ['lines', 'added', 'one\ntwo, three\n'],
  ['an equals sign', 'added', 'k=v=w'],
  ['a dash', 'added', '--set=x=y'],
  ['quotes', 'sidecar\\.example\\.com/inject', '"false"'],
  ['an apostrophe', 'added', "it's"],
  ['a backslash', 'added', 'C:\\path\\n'],
  ['a backslash at the end', 'added', 'x\\'],
  ['a template', 'added', '{{ .Release.Name }}'],
  ['a variable', 'added', '${ARGOCD_APP_NAME}-$ARGOCD_APP_REVISION_SHORT_8'],
  ['an unknown variable', 'added', '${UNKNOWN}x$$y$1z'],
  ['unicode', 'added', 'grüße ☃ \u{1f600}'],
  ['a nested name', 'deep.er.name', '1'],
  ['a dot in the name', 'annotations.a\\.example\\.com/b', 'x', true],
  ['an index', 'items[1]', 'set'],
  ['an index after a gap', 'items[4].name', 'x'],
  ['an index in an index', 'matrix[0][1]', '1'],
  ['! an index that is a word', 'items[x]', '1'],
  ['! an open bracket', 'items[0', '1'],
  ['! a negative index', 'items[-1]', '1'],
  ['! a huge index', 'items[70000]', '1'],
  ['an equals sign in the name', 'a=b', 'c'],
  ['! a comma in the name', 'a,b', 'c'],
  ['an escaped comma in the name', 'a\\,b', 'c'],
  ['a space in the name', 'a b', 'c'],
  ['! an empty name', '', 'c'],
  ['a dot at the end of the name', 'a.', 'c'],
  ['braces in the name', '{a}', 'c'],
  ['into a text', 'replicaCount.x', '1'],
  ['of all charts', 'global.site', 'parameter'],
  ['of a subchart', 'db.own', 'parameter'],
];

const parameters = Object.fromEntries(
  parameterTable.map(([what, name, value, forceString]): [string, JsonObject] => [
    what.replace(/^(?:! )?/, '$&parameters: '),
    { parameters: [{ name, value, ...(forceString === undefined ? {} : { forceString }) }] },
  ]),
);

const severalParameters: Readonly<Record<string, JsonObject>> = {
  'parameters: the same twice': {
    parameters: [
      { name: 'added', value: 'first' },
      { name: 'added', value: 'second' },
    ],
  },
  'parameters: the same as text and not': {
    parameters: [
      { name: 'added', value: '1', forceString: true },
      { name: 'added', value: '2' },
    ],
  },
};

const files: Readonly<Record<string, JsonObject>> = {
  valueFiles: { valueFiles: ['option-files/one.yaml'] },
  'valueFiles: in order': { valueFiles: ['option-files/two.yaml', 'option-files/one.yaml'] },
  'valueFiles: the same twice': {
    valueFiles: ['option-files/one.yaml', 'option-files/two.yaml', './option-files/one.yaml'],
  },
  'valueFiles: a pattern': { valueFiles: ['option-files/*.yaml'] },
  'valueFiles: a deep pattern': { valueFiles: ['option-files/**/*.yaml'] },
  'valueFiles: a class': { valueFiles: ['option-files/[!o]*.yaml', 'option-files/{one,g*}.yaml'] },
  'valueFiles: a pattern beside a name': { valueFiles: ['option-files/*.yaml', 'option-files/one.yaml'] },
  '! valueFiles: a pattern for nothing': { valueFiles: ['option-files/none-*.yaml'] },
  '! valueFiles: missing': { valueFiles: ['option-files/gone.yaml'] },
  ignoreMissingValueFiles: {
    valueFiles: ['option-files/gone.yaml', 'option-files/none-*.yaml', 'option-files/two.yaml'],
    ignoreMissingValueFiles: true,
  },
  'ignoreMissingValueFiles: no files': { ignoreMissingValueFiles: true },
  'valueFiles: from the root': { valueFiles: ['/option-files/of-root.yaml'] },
  'valueFiles: a variable': { valueFiles: ['option-files/${ARGOCD_APP_NAME}.yaml'] },
  'valueFiles: a link': { valueFiles: ['option-files/link.yaml'] },
  'valueFiles: empty': { valueFiles: ['option-files/empty.yaml'] },
  'valueFiles: several documents': { valueFiles: ['option-files/deep/documents.yaml'] },
  'valueFiles: values.yaml again': { valueFiles: ['values.yaml'] },
  '! valueFiles: an empty name': { valueFiles: ['', 'option-files/one.yaml'] },
  '! valueFiles: outside': { valueFiles: ['../../../../../outside.yaml'] },
  fileParameters: { fileParameters: [{ name: 'certificate', path: 'option-files/text.txt' }] },
  'fileParameters: a name with dots': { fileParameters: [{ name: 'files.app\\.conf', path: 'option-files/text.txt' }] },
  'fileParameters: from the root': { fileParameters: [{ name: 'added', path: '/option-files/of-root.yaml' }] },
  'fileParameters: an index': { fileParameters: [{ name: 'items[0]', path: 'option-files/text.txt' }] },
  '! fileParameters: missing': { fileParameters: [{ name: 'added', path: 'option-files/gone.txt' }] },
  'fileParameters: over a parameter': {
    parameters: [{ name: 'added', value: 'parameter' }],
    fileParameters: [{ name: 'added', path: 'option-files/text.txt' }],
  },
};

const values: Readonly<Record<string, JsonObject>> = {
  values: { values: 'added: text\nzone: {name: inline}\n' },
  'values: a template': { values: 'added: "{{ .Release.Name }}"\nother: ${ARGOCD_APP_NAME}\n' },
  'values: anchors': { values: 'base: &b {a: 1}\nadded: {<<: *b, c: 2}\nitems: [*b]\n' },
  'values: scalars': {
    values:
      'a: 0755\nb: 1e3\nc: 1_000\nd: yes\ne: ~\nf: 2026-01-02\ng: 12345678901234567890\nh: .5\ni: 0o17\nj: "1"\nk: 1.0\n',
  },
  'values: null': { values: 'zone: null\nitems: null\nglobal: null\nreplicaCount: ~\n' },
  'values: blocks': { values: 'added: |\n  one\n   two\nfolded: >-\n  a\n  b\n' },
  'values: comments only': { values: '# nothing\n' },
  'values: an empty text': { values: '' },
  '! values: a list': { values: '- a\n' },
  '! values: a word': { values: 'word' },
  'values: twice the same key': { values: 'added: 1\nadded: 2\n' },
  '! values: unbalanced': { values: 'added: [\n' },
  '! values: a tab': { values: 'added:\n\t- x\n' },
  valuesObject: { valuesObject: { added: 'object', zone: { name: 'object', more: [1, 'x', true, null] } } },
  'valuesObject: null': { valuesObject: { zone: null, items: null, image: { tag: null }, db: null } },
  'valuesObject: empty': { valuesObject: {} },
  'valuesObject: texts like numbers': {
    valuesObject: { a: '0755', b: '1e3', c: 'yes', d: 'null', e: '~', f: '', g: ' x ' },
  },
  'valuesObject: numbers': {
    valuesObject: { a: 1.5, b: 1e21, c: 9_007_199_254_740_991, d: -0.1, e: 1e-7, f: 100_000_000 },
  },
  'valuesObject: long texts': {
    valuesObject: {
      a: `${'word '.repeat(40)}end`,
      b: 'one\n two\n\nthree',
      c: '# no comment',
      d: 'a: b',
      e: '\ttab',
      f: 'ü\u2028',
    },
  },
  'valuesObject: odd keys': { valuesObject: { 'a.b/c': 1, '': 2, '1': 3, true: 4, 'a b': { '#': 5 }, '-': [[]] } },
  'values and valuesObject': { values: 'added: text\nonly: text\n', valuesObject: { added: 'object' } },
  'values and parameters': { values: 'added: text\n', parameters: [{ name: 'added', value: 'parameter' }] },
};

const switches: Readonly<Record<string, JsonObject>> = {
  'helm: empty': {},
  releaseName: { releaseName: 'given' },
  'releaseName: long': { releaseName: 'r'.repeat(53) },
  '! releaseName: too long': { releaseName: 'r'.repeat(54) },
  'releaseName: a dot': { releaseName: 'a.b' },
  '! releaseName: capitals': { releaseName: 'Given' },
  namespace: { namespace: 'elsewhere' },
  skipCrds: { skipCrds: true },
  skipTests: { skipTests: true },
  skipSchemaValidation: { skipSchemaValidation: true, valuesObject: { replicaCount: 'many' } },
  'a value against the schema': { valuesObject: { replicaCount: 'many', image: 'text' } },
  kubeVersion: { kubeVersion: 'v1.28.3' },
  'kubeVersion: short': { kubeVersion: '1.21' },
  'kubeVersion: of a vendor': { kubeVersion: 'v1.29.1-gke.1589018' },
  'kubeVersion: with build metadata': { kubeVersion: '1.31.0+k3s1' },
  'kubeVersion: old': { kubeVersion: '1.16.0' },
  '! kubeVersion: no version': { kubeVersion: 'latest' },
  apiVersions: { apiVersions: ['route.openshift.io/v1', 'monitoring.coreos.com/v1/ServiceMonitor'] },
  'apiVersions: empty': { apiVersions: [''] },
  'apiVersions: a comma': { apiVersions: ['a.example.com/v1,b.example.com/v1'] },
  'version: 3': { version: 'v3' },
  'version: 4': { version: 'v4' },
  '! version: unknown': { version: '3' },
  passCredentials: { passCredentials: true },
};

export const helmOptions: readonly SourceOption[] = [
  ...optionsOf('helm', { ...parameters, ...severalParameters, ...files, ...values, ...switches }),
  { name: 'destination', kind: 'helm', request: { appName: 'team_shop', namespace: 'shop' } },
  { name: 'destination: no namespace', kind: 'helm', request: { namespace: '' } },
  {
    name: 'cluster: API versions',
    kind: 'helm',
    request: { apiVersions: ['monitoring.coreos.com/v1/ServiceMonitor', 'v1'] },
  },
  { name: 'override file', kind: 'helm', request: { appName: 'overridden' } },
];

/** Files in each chart, which options name. A template shows what the options change. */
export const helmFiles: Readonly<Record<string, string>> = {
  'option-files/one.yaml': 'added: one\nzone: {name: one}\nitems: [1]\n',
  'option-files/two.yaml': 'added: two\nzone: {size: 2}\n',
  'option-files/app.yaml': 'added: of the application\n',
  'option-files/deep/three.yaml': 'zone: {deep: 3}\n',
  'option-files/deep/documents.yaml': 'added: first\n---\nadded: second\n',
  'option-files/link.yaml': '-> one.yaml',
  'option-files/empty.yaml': '',
  'option-files/text.txt': 'first line\nsecond, with a comma = and {braces}\n',
  '.argocd-source-overridden.yaml':
    'helm: {releaseName: of-file, parameters: [{name: added, value: file}], valuesObject: {zone: {of: file}}}\n',
  'templates/option-shown.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: option-shown, namespace: "{{ .Release.Namespace }}"}\ndata:\n  values: {{ .Values | toJson | quote }}\n' +
    '  release: {{ .Release.Name | quote }}\n  version: {{ .Capabilities.KubeVersion.Version | quote }}\n' +
    '  monitors: {{ .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" | quote }}\n' +
    '  routes: {{ .Capabilities.APIVersions.Has "route.openshift.io/v1" | quote }}\n',
};
