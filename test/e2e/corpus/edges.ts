import type { JsonObject } from '#base';
import { chart, configMap, deployment, jsonOf, service, template, within, yaml } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

const thing = (name: string, spec: string): string =>
  `apiVersion: corpus.example.com/v1\nkind: Thing\nmetadata: {name: ${name}}\nspec:\n${spec}`;

const values: SourceFiles = chart({
  'values.yaml': 'a: x\nb: {c: d}\nlist: [1, 2]\n',
  'templates/cm.yaml': template({ all: '{{ toJson .Values | quote }}' }),
});

const base: SourceFiles = {
  'app.yaml': deployment('web'),
  'cm.yaml': configMap('settings'),
  'svc.yaml': service('web'),
};

const kustomized = (name: string, kustomize: object, kustomization = '', more: SourceFiles = {}): CorpusCase => ({
  name,
  files: { ...base, 'kustomization.yaml': `resources: [app.yaml, cm.yaml, svc.yaml]\n${kustomization}`, ...more },
  source: { kustomize: JSON.parse(JSON.stringify(kustomize)) as JsonObject },
  atLeast: 3,
});

/** Rare features, and unusual spellings of common ones. */
export const edgeCases: readonly CorpusCase[] = [
  {
    name: 'edge-attributes-plain',
    files: {
      '.gitattributes': '[attr]win text eol=crlf\n*.yaml ident\n',
      'a.yaml': configMap('a', { id: '"$Id$"' }),
      'sub/.gitattributes': '*.yaml eol=crlf\n',
      'sub/b.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: b}\ndata:\n  text: |\n    a\n    b\n',
    },
    source: { directory: { recurse: true } },
    atLeast: 2,
  },
  {
    name: 'edge-attributes-generator',
    files: {
      '.gitattributes': '*.conf text eol=crlf\n*.txt working-tree-encoding=UTF-16LE-BOM text\n',
      'kustomization.yaml': 'configMapGenerator: [{name: made, files: [app.conf]}]\n',
      'app.conf': 'a=1\nb=2\n',
    },
  },
  {
    name: 'edge-attributes-chart',
    files: chart({
      '.gitattributes': '*.conf text eol=crlf\n',
      'app.conf': 'a=1\nb=2\n',
      'templates/cm.yaml': template({ conf: '{{ .Files.Get "app.conf" | quote }}' }),
    }),
  },
  {
    name: 'edge-attributes-jsonnet',
    files: {
      '.gitattributes': '*.conf text eol=crlf\n',
      'app.conf': 'a=1\nb=2\n',
      'a.jsonnet': `{apiVersion: 'v1', kind: 'ConfigMap', metadata: {name: 'a'}, data: {conf: importstr 'app.conf'}}\n`,
    },
  },
  {
    name: 'edge-json-halves',
    files: {
      'a.json': String.raw`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k\udc00":"a\ud800b \ud83d\ude00"}}`,
      'b.yaml': String.raw`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"b"},"data":{"k":"\ud800\u0041"}}`,
    },
    atLeast: 2,
  },
  {
    name: 'edge-yaml-forms',
    files: {
      'crlf.yaml': configMap('crlf').replaceAll('\n', '\r\n'),
      'ends.yaml': `--- # first\n${configMap('ends')}...\n---\n${configMap('after')}`,
      'json.yaml': jsonOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'json' } }),
      'tagged.yaml': thing('tagged', '  a: !!str 12\n  b: !!int "7"\n  c: !!binary aGVsbG8=\n  d: !own x\n'),
      'keys.yaml': thing('keys', '  true: a\n  1.5: b\n  ? long key\n  : c\n  "": empty\n'),
      'numbers.yaml': thing(
        'numbers',
        '  a: 1_000\n  b: 0b101\n  c: 190:20:30\n  d: +1\n  e: 1.\n  f: .5\n  g: 1234567890123456789\n  h: 1e21\n  i: 0.1\n  j: 1e-7\n  k: -0\n  m: 08\n  n: 0o7\n',
      ),
      'texts.yaml': thing(
        'texts',
        '  a: "\\u263a \\x41"\n  b: \'it\'\'s\'\n  c: >\n    folded\n    text\n\n    more\n  d: |+\n    kept\n\n  e: |2\n      two\n  f: plain # comment\n  g: a#b\n  h: "a\n    b"\n  i: =\n  j: 2026-13-45\n  k: NULL\n  l: Null\n  m: YES\n  n: Off\n',
      ),
    },
    atLeast: 8,
  },
  {
    name: 'edge-yaml-twice',
    files: { 'x.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  a: first\n  a: last\n' },
  },
  {
    name: 'edge-lists',
    files: {
      'a.yaml': yaml('apiVersion: v1\nkind: List\nitems: []\n', 'apiVersion: v1\nkind: List\nitems:\n', configMap('a')),
      'b.yaml': thing('b', '  items: [1]\n'),
    },
    atLeast: 2,
  },
  {
    name: 'edge-names-of-files',
    files: {
      'UPPER.YAML': configMap('upper'),
      '.hidden.yaml': configMap('hidden'),
      '.dir/x.yaml': configMap('in-hidden'),
      'a.b.yml': configMap('dots'),
      yaml: configMap('no-extension'),
      'x.yaml.bak': configMap('bak'),
      'folder.yaml/inner.yaml': configMap('in-folder'),
    },
    source: { directory: { recurse: true } },
    atLeast: 3,
  },
  {
    name: 'edge-patterns',
    files: {
      'a.yaml': configMap('a'),
      'b.yaml': configMap('b'),
      'ab.yaml': configMap('ab'),
      'c/a.yaml': configMap('ca'),
    },
    source: { directory: { recurse: true, include: '[ab].yaml', exclude: '?b.yaml' } },
  },
  {
    name: 'edge-linked-folder',
    files: { 'a.yaml': configMap('a'), link: '-> ../directory-recurse/env' },
    source: { directory: { recurse: true } },
  },
  { name: 'edge-path', files: { 'x/a.yaml': configMap('a') }, source: { path: './edge-path/../edge-path/x/' } },
  {
    name: 'edge-same-name-twice',
    files: { 'a.yaml': configMap('same', { a: 'one' }), 'b.yaml': configMap('same', { a: 'two' }) },
    atLeast: 2,
  },
  {
    name: 'edge-jsonnet-values',
    files: {
      'a.jsonnet': 'null\n',
      'b.jsonnet':
        "[{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'b' }, hidden:: 1, data: { big: '' + 9007199254740993, f: '' + 1.5 } }, null]\n",
      'c.jsonnet':
        "{ apiVersion: 'v1', kind: 'List', items: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' } }] }\n",
      'd.jsonnet':
        "{ apiVersion: 'c.example.com/v1', kind: 'Thing', metadata: { name: 'd' }, spec: { a: 1.0, b: 1e15, c: 3.25, d: 12345678901 } }\n",
    },
    atLeast: 3,
  },
  {
    name: 'edge-jsonnet-folders',
    files: {
      'deep/main.jsonnet': "(import '../shared.libsonnet') + (import 'near.libsonnet')\n",
      'deep/near.libsonnet': "{ metadata: { name: 'deep' } }\n",
      'shared.libsonnet': "{ apiVersion: 'v1', kind: 'ConfigMap' }\n",
    },
    source: { directory: { recurse: true, include: '*.jsonnet' } },
  },
  {
    name: 'edge-parameters',
    files: values,
    source: {
      helm: {
        parameters: [
          { name: 'a', value: '' },
          { name: 'b.quote', value: `"it's"` },
          { name: 'b.space', value: '  two words ' },
          { name: 'b.dash', value: '-x' },
          { name: 'b.equals', value: 'k=v=w' },
          { name: 'b.comma', value: 'a\\,b,c' },
          { name: 'b.dollar', value: '$$HOME ${UNKNOWN}x $1' },
          { name: 'b.braces', value: '{"k": 1}' },
          { name: 'b.line', value: 'one\ntwo' },
          { name: 'b.c', value: '[1]' },
          { name: 'list[0]', value: '9' },
          { name: 'b.bool', value: 'TRUE' },
          { name: 'b.zero', value: '0123' },
        ],
      },
    },
  },
  {
    name: 'edge-values-beside',
    files: { ...within('app', values), 'other/v.yaml': 'a: other\n', 'app/link.yaml': '-> ../other/v.yaml' },
    source: {
      path: 'edge-values-beside/app',
      helm: { valueFiles: ['../other/v.yaml', 'link.yaml', './values.yaml', 'values.yaml'] },
    },
  },
  {
    name: 'edge-build-environment',
    files: values,
    namespace: 'shop',
    source: {
      targetRevision: 'main',
      helm: {
        parameters: [
          'APP_NAME',
          'APP_NAMESPACE',
          'APP_PROJECT_NAME',
          'APP_REVISION',
          'APP_REVISION_SHORT',
          'APP_REVISION_SHORT_8',
          'APP_SOURCE_REPO_URL',
          'APP_SOURCE_PATH',
          'APP_SOURCE_TARGET_REVISION',
        ].map((name) => ({ name: `b.${name}`, value: `\${ARGOCD_${name}}` })),
      },
    },
  },
  { name: 'edge-chart-without-objects', files: chart({ 'templates/NOTES.txt': 'nothing\n' }), atLeast: 0 },
  {
    name: 'edge-subchart-values',
    files: {
      ...chart(
        { 'values.yaml': 'sub: {v: parent}\n', 'templates/cm.yaml': template({ v: '{{ .Values.imported | quote }}' }) },
        'dependencies:\n- {name: sub, version: "*", import-values: [{child: exports, parent: .}]}\n',
      ),
      ...within('charts/sub', {
        'Chart.yaml': 'apiVersion: v2\nname: sub\nversion: 1.0.0-rc.1+build\n',
        'values.yaml': 'v: own\nexports: {imported: from-child}\n',
        'templates/cm.yaml': template({ v: '{{ .Values.v }}' }, 'sub'),
      }),
    },
    atLeast: 1,
  },
  {
    name: 'edge-chart-order',
    files: chart({
      'templates/z.yaml': yaml(configMap('z'), deployment('web'), service('web')),
      'templates/a.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n',
      'templates/b.yaml': 'apiVersion: corpus.example.com/v1\nkind: Thing\nmetadata: {name: t}\n',
      'templates/c.yaml':
        'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: sa, annotations: {helm.sh/hook: "post-install, post-upgrade"}}\n',
    }),
    atLeast: 6,
  },
  kustomized('edge-images', {
    images: [
      'a=b',
      'registry.example.com/web=other:1@sha256:2222222222222222222222222222222222222222222222222222222222222222',
    ],
  }),
  kustomized('edge-annotations', {
    commonAnnotations: { 'a.example.com/b': 'x: y, "z" = $HOME', empty: '', number: '1', bool: 'true' },
  }),
  kustomized('edge-labels', { commonLabels: { number: '1', bool: 'yes', empty: '' } }),
  kustomized('edge-replicas', { replicas: [{ name: 'web', count: 0 }] }),
  kustomized(
    'edge-namespace',
    { namespace: 'n', namePrefix: 'a' },
    'namespace: own\nnamePrefix: b-\nnameSuffix: -c\n',
    {
      'svc.yaml': yaml(
        service('web'),
        'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: crb}\nroleRef: {kind: ClusterRole, name: x, apiGroup: rbac.authorization.k8s.io}\nsubjects: [{kind: ServiceAccount, name: default, namespace: default}]\n',
      ),
    },
  ),
  kustomized(
    'edge-patches',
    {
      patches: [
        {
          patch:
            'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {nodeName: n}}}\n',
        },
        { target: { annotationSelector: 'none=such' }, patch: '- {op: remove, path: /spec}\n' },
        {
          target: { group: 'apps', version: 'v1', kind: 'Deployment', name: 'w.*' },
          patch: '[{"op":"add","path":"/metadata/labels/p","value":"1"}]',
        },
      ],
    },
    'patches: [{path: p.yaml}]\nlabels: [{pairs: {l: m}, includeSelectors: true}]\n',
    { 'p.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {from: patch}\n' },
  ),
  kustomized('edge-lists-in-kustomize', {}, '', {
    'svc.yaml':
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: s1}}\n- {apiVersion: v1, kind: Secret, metadata: {name: s2}}\n',
  }),
  {
    name: 'edge-tag',
    repositories: { r: base },
    source: { at: 'git:r', path: '.', targetRevision: 'refs/tags/v1.0.0' },
  },
  {
    name: 'edge-tag-range',
    repositories: { r: base },
    source: { at: 'git:r', path: '.', targetRevision: '>=1.0.0 <1.1.0' },
  },
];

/** Rare errors. */
export const brokenEdges: readonly (CorpusCase & { readonly says: RegExp })[] = [
  { name: 'broken-edge-nan', files: { 'x.yaml': thing('x', '  a: .nan\n') }, says: /Failed to unmarshal/ },
  {
    name: 'broken-edge-tab',
    files: { 'x.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: x\n' },
    says: /Failed to unmarshal/,
  },
  { name: 'broken-edge-alias', files: { 'x.yaml': `${configMap('x')}more: *none\n` }, says: /Failed to unmarshal/ },
  {
    name: 'broken-edge-release',
    files: values,
    source: { helm: { releaseName: 'Not_A_Name' } },
    says: /invalid release name/,
  },
  { name: 'broken-edge-kube-version', files: values, source: { helm: { kubeVersion: 'soon' } }, says: /soon/ },
  {
    name: 'broken-edge-file-parameter',
    files: values,
    source: { helm: { fileParameters: [{ name: 'a', path: 'gone.txt' }] } },
    says: /gone\.txt/,
  },
  {
    name: 'broken-edge-file-outside',
    files: values,
    source: { helm: { fileParameters: [{ name: 'a', path: '../../../x' }] } },
    says: /outside repository root/,
  },
  {
    name: 'broken-edge-set',
    files: values,
    source: { helm: { parameters: [{ name: 'list[x]', value: '1' }] } },
    says: /parsing index|failed parsing --set/,
  },
  { ...kustomized('broken-edge-image', { images: ['registry.example.com/web'] }), says: /image/ },
  {
    ...kustomized('broken-edge-label', { commonLabels: { app: 'b' } }, 'commonLabels: {app: a}\n'),
    says: /already in kustomization file/,
  },
  {
    ...kustomized('broken-edge-build-option', {}),
    buildOptions: '--no-such-flag',
    says: /unknown flag: --no-such-flag/,
  },
  {
    name: 'broken-edge-two-files',
    files: { 'kustomization.yaml': 'resources: []\n', 'kustomization.yml': 'resources: []\n' },
    says: /[Ff]ound multiple kustomization files/,
  },
  {
    name: 'broken-edge-jsonnet-variable',
    files: { 'x.jsonnet': "std.extVar('none')\n" },
    says: /Undefined external variable: none/,
  },
  {
    name: 'broken-edge-jsonnet-code',
    files: { 'x.jsonnet': 'function(a) a\n' },
    source: { directory: { jsonnet: { tlas: [{ name: 'a', value: '1 +', code: true }] } } },
    says: /<?top-level-arg:a>?|Unexpected end/,
  },
  { name: 'broken-edge-jsonnet-text', files: { 'x.jsonnet': "'just text'\n" }, says: /x\.jsonnet/ },
  {
    name: 'broken-edge-tag',
    repositories: { r: base },
    source: { at: 'git:r', path: '.', targetRevision: '9.x' },
    says: /unable to resolve '9\.x' to a commit SHA/,
  },
  {
    name: 'broken-edge-override-kind',
    files: { 'a.yaml': configMap('a'), '.argocd-source.yaml': '- a\n' },
    says: /error while parsing source parameters/,
  },
  {
    name: 'broken-edge-override-type',
    files: { ...values, '.argocd-source.yaml': 'helm: {parameters: text}\n' },
    says: /error while parsing source parameters/,
  },
];
