import { configMap, crd, deployment, jsonOf, service, yaml } from './case.ts';
import type { CorpusCase } from './case.ts';

const nested = {
  'a.yaml': configMap('a'),
  'b.yaml': configMap('b'),
  'env/prod/c.yaml': configMap('c'),
  'env/test/d.yml': configMap('d'),
  'env/test/notes.md': '# not a manifest\n',
};

const map = (name: string): string => `{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '${name}' } }`;

/** Plain files, and Jsonnet. */
export const directoryCases: readonly CorpusCase[] = [
  {
    name: 'directory-documents',
    files: {
      'all.yaml': yaml(
        '# only a comment\n',
        configMap('one'),
        '',
        'null\n',
        deployment('two'),
        `# last\n${service('three')}`,
      ),
      'z.yml': configMap('four'),
    },
    atLeast: 4,
  },
  { name: 'directory-flat', files: nested, atLeast: 2 },
  { name: 'directory-recurse', files: nested, source: { directory: { recurse: true } }, atLeast: 4 },
  { name: 'directory-include', files: nested, source: { directory: { recurse: true, include: '*.yml' } } },
  { name: 'directory-exclude', files: nested, source: { directory: { recurse: true, exclude: 'env/*' } }, atLeast: 2 },
  {
    name: 'directory-include-exclude',
    files: nested,
    source: { directory: { recurse: true, include: '{a.yaml,env/**}', exclude: '{**/d.yml,none}' } },
    atLeast: 2,
  },
  {
    name: 'directory-json',
    files: {
      'one.json': jsonOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'json' }, data: { a: '"b"' } }),
      'list.json': jsonOf({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'first' } },
          { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'second' } },
        ],
      }),
    },
    atLeast: 3,
  },
  {
    name: 'directory-lists',
    files: {
      'list.yaml':
        'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n- {apiVersion: v1, kind: Secret, metadata: {name: why}, type: Opaque}\n',
      'kind.yaml':
        'apiVersion: v1\nkind: ConfigMapList\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: z}}\n',
    },
    atLeast: 3,
  },
  {
    name: 'directory-skip-marker',
    files: { 'a.yaml': configMap('a'), 'b.yaml': `# +argocd:skip-file-rendering\n${configMap('b')}` },
  },
  {
    name: 'directory-yaml-values',
    files: {
      'values.yaml':
        'apiVersion: corpus.example.com/v1\nkind: Thing\nmetadata: {name: values}\nspec:\n' +
        '  yes: "yes"\n  truth: [yes, no, on, off, true, "true", y, n]\n  octal: 0755\n  new: 0o17\n  hex: 0xff\n' +
        '  date: 2026-01-02\n  time: 2026-01-02T03:04:05Z\n  text: "2026-01-02"\n  exp: 1e3\n  float: 1.50\n  big: 9007199254740993\n' +
        '  negative: -1\n  nothing: ~\n  empty:\n  folded: >-\n    one\n    two\n  block: |\n    a\n     b\n' +
        '  base: &base {a: 1, b: {c: 2}}\n  merged: {<<: *base, b: 3}\n  again: *base\n  "quoted key": x\n  12: number key\n',
      'utf8.yaml': `\ufeff${configMap('bom', { text: '"grüße ☃ \\u00e9"' })}`,
    },
    atLeast: 2,
  },
  {
    name: 'directory-not-manifests',
    files: { 'a.yaml': configMap('a'), 'words.yaml': 'just words\n- and: [unbalanced\n', 'readme.txt': 'hello\n' },
  },
  {
    name: 'directory-any-extension',
    files: { 'a.manifest': configMap('a'), 'b.yaml': configMap('b') },
    source: { directory: { disableExtensionFilter: true } },
    atLeast: 2,
  },
  {
    name: 'directory-links',
    files: { 'a.yaml': configMap('a'), 'linked.yaml': '-> ../directory-flat/b.yaml', 'gone.yaml': '-> nowhere.yaml' },
    atLeast: 2,
  },
  { name: 'directory with spaces', files: { 'a file.yaml': configMap('spaces') } },
  { name: 'directory-crds', files: { 'crd.yaml': crd('things', 'Thing'), 'x.yaml': configMap('x') }, atLeast: 2 },
  {
    name: 'directory-root',
    repositories: { root: { 'a.yaml': configMap('root-a'), 'deep/b.yaml': configMap('root-b') } },
    source: { at: 'git:root', path: '.', directory: { recurse: true } },
    atLeast: 2,
  },
  {
    name: 'override-of-all',
    files: { ...nested, '.argocd-source.yaml': 'directory: {recurse: true}\npath: elsewhere\n' },
    atLeast: 4,
  },
  {
    name: 'override-of-one-application',
    appName: 'one',
    files: {
      ...nested,
      '.argocd-source.yaml': 'directory: {recurse: true, exclude: "env/prod/*"}\n',
      '.argocd-source-one.yaml': 'directory: {exclude: "env/test/*"}\n',
      '.argocd-source-two.yaml': 'directory: {recurse: false}\n',
    },
    atLeast: 3,
  },
  { name: 'jsonnet-array', files: { 'main.jsonnet': `[${map('a')}, ${map('b')}]\n` }, atLeast: 2 },
  { name: 'jsonnet-object', files: { 'main.jsonnet': `${map('single')} { data: { n: std.toString(1 + 1) } }\n` } },
  {
    name: 'jsonnet-arguments',
    files: {
      'main.jsonnet':
        "function(name, count=1, app='none') [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name + '-' + i }, data: { app: app } } for i in std.range(1, count)]\n",
    },
    source: {
      directory: {
        jsonnet: {
          tlas: [
            { name: 'name', value: 'x' },
            { name: 'count', value: '1 + 2', code: true },
            { name: 'app', value: '${ARGOCD_APP_NAME}-$ARGOCD_APP_NAMESPACE' },
          ],
        },
      },
    },
    atLeast: 3,
  },
  {
    name: 'jsonnet-variables',
    files: {
      'main.jsonnet':
        "{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: std.extVar('name') }, data: { list: std.join('+', std.extVar('list')) } }\n",
    },
    source: {
      directory: {
        jsonnet: {
          extVars: [
            { name: 'name', value: 'from-outside' },
            { name: 'list', value: "['a', 'b']", code: true },
          ],
        },
      },
    },
  },
  {
    name: 'jsonnet-libraries',
    files: {
      'main.jsonnet':
        "local l = import 'lib.libsonnet'; local r = import './near.libsonnet'; [l.map('one', importstr 'text.txt'), r]\n",
      'vendor/lib.libsonnet':
        "{ map(name, text):: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name }, data: { text: text } } }\n",
      'near.libsonnet': `${map('near')}\n`,
      'text.txt': 'line one\nline two\n',
    },
    source: { directory: { jsonnet: { libs: ['jsonnet-libraries/vendor'] } } },
    atLeast: 2,
  },
  {
    name: 'jsonnet-libraries-as-manifests',
    files: { 'main.jsonnet': "import 'a.libsonnet'\n", 'a.libsonnet': `${map('a')}\n` },
    source: { directory: { disableExtensionFilter: true } },
    atLeast: 2,
  },
  {
    name: 'jsonnet-beside-yaml',
    files: { 'a.yaml': configMap('plain'), 'deep/b.jsonnet': `${map('computed')}\n`, 'c.libsonnet': '{}\n' },
    source: { directory: { recurse: true } },
    atLeast: 2,
  },
];
