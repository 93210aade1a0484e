import { chart, configMap, jsonOf, template } from './case.ts';
import type { CorpusCase } from './case.ts';

const plain = { 'values.yaml': 'a: 1\n', 'templates/cm.yaml': template({ a: '{{ .Values.a | quote }}' }) };
const map = { 'cm.yaml': configMap('x') };

/** Sources that cannot be rendered. Both conditions must match `says`. */
export const brokenCases: readonly (CorpusCase & { readonly says: RegExp })[] = [
  { name: 'broken-no-chart', files: { 'values.yaml': 'a: 1\n' }, source: { helm: {} }, says: /Chart\.yaml/ },
  { name: 'broken-chart-yaml', files: { 'Chart.yaml': 'name: [\n' }, says: /Chart\.yaml|unmarshalling the helm chart/ },
  {
    name: 'broken-template-fails',
    files: chart({ 'templates/cm.yaml': '{{ fail "the size must be set" }}\n' }),
    says: /the size must be set/,
  },
  {
    name: 'broken-template-syntax',
    files: chart({ 'templates/cm.yaml': 'kind: {{ if }}\n' }),
    says: /parse error at \(web\/templates\/cm\.yaml:1\): missing value for if/,
  },
  {
    name: 'broken-template-output',
    files: chart({ 'templates/cm.yaml': 'kind: ConfigMap\napiVersion: v1\nmetadata:\n\tname: x\n' }),
    says: /cannot start any token|YAML parse error/,
  },
  {
    name: 'broken-values-list',
    files: chart(plain),
    source: { helm: { values: '- a\n- b\n' } },
    says: /must be a map of values|cannot unmarshal array/,
  },
  {
    name: 'broken-values-file-list',
    files: chart({ ...plain, 'list.yaml': '- a\n' }),
    source: { helm: { valueFiles: ['list.yaml'] } },
    says: /list\.yaml/,
  },
  {
    name: 'broken-values-file-missing',
    files: chart(plain),
    source: { helm: { valueFiles: ['gone.yaml'] } },
    says: /gone\.yaml/,
  },
  {
    name: 'broken-values-glob',
    files: chart(plain),
    source: { helm: { valueFiles: ['gone/*.yaml'] } },
    says: /values file glob "gone\/\*\.yaml" matched no files/,
  },
  {
    name: 'broken-values-outside',
    files: chart(plain),
    source: { helm: { valueFiles: ['../../../etc/passwd'] } },
    says: /resolved to outside repository root/,
  },
  {
    name: 'broken-values-scheme',
    files: chart(plain),
    source: { helm: { valueFiles: ['ftp://127.0.0.1/values.yaml'] } },
    says: /the URL scheme 'ftp' is not allowed/,
  },
  {
    name: 'broken-schema',
    files: chart({ ...plain, 'values.schema.json': jsonOf({ type: 'object', required: ['wanted'] }) }),
    says: /values don't meet the specifications of the schema[\s\S]*wanted/,
  },
  {
    name: 'broken-dependency',
    files: chart(plain, 'dependencies:\n- {name: gone, version: 1.0.0, repository: "file://../gone"}\n'),
    says: /gone/,
  },
  {
    name: 'broken-kube-version',
    files: chart(plain, 'kubeVersion: ">=99.0.0"\n'),
    says: /chart requires kubeVersion: >=99\.0\.0 which is incompatible with Kubernetes/,
  },
  { name: 'broken-helm-version', files: chart(plain), source: { helm: { version: 'v2' } }, says: /v2/ },
  {
    name: 'broken-cycle',
    files: { 'kustomization.yaml': 'resources: [inner]\n', 'inner/kustomization.yaml': 'resources: [../]\n' },
    says: /cycle/,
  },
  { name: 'broken-kustomization', files: { 'kustomization.yaml': 'resources: {a: b}\n' }, says: /kustomization/i },
  { name: 'broken-resource-missing', files: { 'kustomization.yaml': 'resources: [gone.yaml]\n' }, says: /gone\.yaml/ },
  {
    name: 'broken-patch',
    files: { 'kustomization.yaml': 'resources: [cm.yaml]\n', ...map },
    source: {
      kustomize: { patches: [{ target: { kind: 'ConfigMap' }, patch: '- op: remove\n  path: /data/none\n' }] },
    },
    says: /\/data\/none|data\/none|remove operation/,
  },
  {
    name: 'broken-component',
    files: { 'kustomization.yaml': 'resources: [cm.yaml]\n', ...map },
    source: { kustomize: { components: ['../gone'] } },
    says: /gone/,
  },
  {
    name: 'broken-replicas',
    files: { 'kustomization.yaml': 'resources: [cm.yaml]\n', ...map },
    source: { kustomize: { replicas: [{ name: 'x', count: 'many' }] } },
    says: /expected integer value for count\. Received: many/,
  },
  {
    name: 'broken-kustomize-version',
    files: { 'kustomization.yaml': 'resources: [cm.yaml]\n', ...map },
    source: { kustomize: { version: 'v1.0' } },
    says: /kustomize version v1\.0 is not registered/,
  },
  {
    name: 'broken-yaml',
    files: { 'x.yaml': `${configMap('x')}\n  bad: [\n` },
    says: /Failed to unmarshal "(?:[\w-]+\/)?x\.yaml"/,
  },
  {
    name: 'broken-second-document',
    files: { 'x.yaml': `${configMap('x')}---\na: [\n` },
    says: /Failed to unmarshal "(?:[\w-]+\/)?x\.yaml"/,
  },
  {
    name: 'broken-json',
    files: { 'x.json': '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"}} {}' },
    says: /Found multiple objects in "(?:[\w-]+\/)?x\.json"\. Only single objects are allowed in JSON files\./,
  },
  {
    name: 'broken-json-syntax',
    files: { 'x.json': '{"apiVersion": ' },
    says: /Failed to unmarshal "(?:[\w-]+\/)?x\.json"/,
  },
  { name: 'broken-jsonnet', files: { 'x.jsonnet': '{ a: \n' }, says: /x\.jsonnet/ },
  { name: 'broken-jsonnet-import', files: { 'x.jsonnet': "import 'gone.libsonnet'\n" }, says: /gone\.libsonnet/ },
  {
    name: 'broken-jsonnet-argument',
    files: { 'x.jsonnet': 'function(name) { kind: name }\n' },
    says: /Missing argument: name/,
  },
  {
    name: 'broken-jsonnet-error',
    files: { 'x.jsonnet': "error 'no such environment'\n" },
    says: /no such environment/,
  },
  { name: 'broken-path', source: { path: 'is/not/there' }, says: /is\/not\/there: app path does not exist/ },
  {
    name: 'broken-path-file',
    files: map,
    source: { path: 'broken-path-file/cm.yaml' },
    says: /app path is not a directory/,
  },
  { name: 'broken-path-outside', source: { path: '../../etc' }, says: /app path outside root/ },
  { name: 'broken-path-absolute', source: { path: '/etc' }, says: /\/etc: app path is absolute/ },
  {
    name: 'broken-revision',
    source: { path: 'directory-flat', targetRevision: 'no-such-branch' },
    says: /unable to resolve 'no-such-branch' to a commit SHA/,
  },
  {
    name: 'broken-commit',
    source: { path: 'directory-flat', targetRevision: '0123456789012345678901234567890123456789' },
    says: /0123456789012345678901234567890123456789/,
  },
  {
    name: 'broken-link',
    repositories: { links: { ...map, 'out.yaml': '-> ../../../etc/passwd' } },
    source: { at: 'git:links', path: '.' },
    says: /out-of-bounds symlink.*out\.yaml|illegal filepath in symlink/,
  },
  {
    name: 'broken-override',
    files: { ...map, '.argocd-source.yaml': 'helm: [\n' },
    says: /error while parsing source parameters/,
  },
  {
    name: 'broken-two-kinds',
    files: map,
    source: { helm: {}, kustomize: {} },
    says: /multiple application sources defined: Kustomize,Helm/,
  },
  {
    name: 'broken-reference',
    files: chart(plain),
    sources: [
      { path: 'broken-reference', helm: { valueFiles: ['$gone/values.yaml'] } },
      { path: 'directory-flat', ref: 'there' },
    ],
    says: /source referenced "\$gone", which is not one of the available sources/,
  },
  {
    name: 'broken-no-reference',
    files: chart(plain),
    sources: [{ path: 'broken-no-reference', helm: { valueFiles: ['$gone/values.yaml'] } }, { path: 'directory-flat' }],
    says: /source referenced "\$gone", but no source has a 'ref' field defined/,
  },
  {
    name: 'broken-chart-name',
    source: { at: 'charts', chart: 'gone', targetRevision: '*' },
    says: /chart 'gone' not found in index/,
  },
  { name: 'broken-chart-version', source: { at: 'charts', chart: 'web', targetRevision: '99.0.0' }, says: /99\.0\.0/ },
  {
    name: 'broken-chart-constraint',
    source: { at: 'charts', chart: 'web', targetRevision: '>99' },
    says: /version matching constraint not found/,
  },
  {
    name: 'broken-chart-login',
    source: { at: 'locked-charts', chart: 'web', targetRevision: '*', repository: { username: 'nobody' } },
    says: /401/,
  },
  { name: 'broken-artifact', source: { at: 'oci:plain', path: 'app', targetRevision: 'gone' }, says: /gone/ },
  { name: 'broken-repository', source: { at: 'git:none', path: '.' }, says: /not found/i },
  {
    name: 'broken-login',
    repositories: { locked: map },
    source: { at: 'https:locked', path: '.', repository: { username: 'nobody' } },
    says: /failed to list refs: .*authenticat/,
  },
  {
    // The repo-server renders it; our client refuses the answer.
    name: 'broken-encrypted',
    files: { 'a.yaml': `${configMap('x')}sops: {mac: "ENC[AES256_GCM,data:x]"}\n` },
    says: /the ConfigMap "x" is encrypted by SOPS and not applied/,
  },
];
