import { chart, configMap, deployment, template, within } from './case.ts';
import type { CorpusCase } from './case.ts';

const values = {
  'values.yaml': 'a: chart\nb: chart\n',
  'templates/cm.yaml': template({ a: '{{ .Values.a }}', b: '{{ .Values.b | quote }}' }),
};
const kept = { 'prod/values.yaml': 'b: other repository\n', 'text.txt': 'from a file\n', 'cm.yaml': configMap('kept') };

/** Several sources, charts and artifacts from servers, revisions. */
export const severalCases: readonly CorpusCase[] = [
  {
    name: 'several-kinds',
    files: {
      ...within('plain', { 'a.yaml': configMap('a') }),
      ...within('chart', chart(values)),
      ...within('over', { 'kustomization.yaml': 'resources: [x.yaml]\n', 'x.yaml': deployment('x') }),
    },
    sources: [
      { path: 'several-kinds/plain' },
      { path: 'several-kinds/chart', helm: { values: 'a: 1\n' } },
      { path: 'several-kinds/over', kustomize: { nameSuffix: '-s' } },
    ],
    atLeast: 3,
  },
  {
    name: 'several-values-elsewhere',
    files: chart(values),
    repositories: { values: kept },
    sources: [
      {
        path: 'several-values-elsewhere',
        helm: { valueFiles: ['$vals/prod/values.yaml', 'values.yaml', '$vals/prod/*.yaml'] },
      },
      { at: 'git:values', ref: 'vals' },
    ],
  },
  {
    name: 'several-file-parameters-elsewhere',
    files: chart(values),
    repositories: { values: kept },
    sources: [
      { at: 'git:values', ref: 'vals' },
      { path: 'several-file-parameters-elsewhere', helm: { fileParameters: [{ name: 'a', path: '$vals/text.txt' }] } },
    ],
  },
  {
    name: 'several-referred-and-rendered',
    files: chart(values),
    repositories: { values: kept },
    sources: [
      { at: 'git:values', ref: 'vals', path: '.' },
      {
        path: 'several-referred-and-rendered',
        helm: { valueFiles: ['$vals/prod/values.yaml'], ignoreMissingValueFiles: true },
      },
    ],
    atLeast: 2,
  },
  {
    name: 'several-chart-and-values',
    repositories: { values: kept },
    sources: [
      { at: 'charts', chart: 'web', targetRevision: '1.x', helm: { valueFiles: ['$vals/prod/values.yaml'] } },
      { at: 'git:values', ref: 'vals' },
    ],
  },
  {
    name: 'several-of-one-override',
    files: within('x', {
      'a.yaml': configMap('a'),
      'b/c.yaml': configMap('c'),
      '.argocd-source.yaml': 'directory: {recurse: true}\n',
    }),
    sources: [{ path: 'several-of-one-override/x' }, { path: 'several-of-one-override/x/b' }],
    atLeast: 3,
  },
  { name: 'chart-version', source: { at: 'charts', chart: 'web', targetRevision: '1.0.0' } },
  { name: 'chart-constraint', source: { at: 'charts', chart: 'web', targetRevision: '~1.0' } },
  { name: 'chart-newest', source: { at: 'charts', chart: 'web', targetRevision: '*' } },
  {
    name: 'chart-options',
    source: {
      at: 'charts',
      chart: 'web',
      targetRevision: '^1.0.0',
      helm: {
        releaseName: 'r',
        valueFiles: ['env/prod.yaml'],
        parameters: [{ name: 'b', value: '${ARGOCD_APP_REVISION}' }],
        passCredentials: true,
      },
    },
  },
  {
    name: 'chart-login',
    source: {
      at: 'locked-charts',
      chart: 'web',
      targetRevision: '1.0.0',
    },
  },
  {
    name: 'helm-dependency-repository',
    files: chart(
      { 'templates/d.yaml': deployment('main') },
      'dependencies:\n- {name: web, version: 1.x, repository: "CHARTS"}\n',
      'outer',
    ),
    atLeast: 2,
  },
  {
    name: 'helm-values-of-a-server',
    files: chart(values),
    source: { helm: { valueFiles: ['CHARTS/values/remote.yaml'] } },
  },
  { name: 'registry-chart', source: { at: 'registry', chart: 'web', targetRevision: '1.0.0' } },
  { name: 'registry-chart-constraint', source: { at: 'registry', chart: 'web', targetRevision: '>=1.0.0 <2.0.0' } },
  { name: 'artifact', source: { at: 'oci:plain', path: 'app', targetRevision: 'v1' } },
  {
    name: 'artifact-constraint',
    source: { at: 'oci:plain', path: '.', targetRevision: '1.x', directory: { recurse: true } },
    atLeast: 2,
  },
  {
    name: 'artifact-chart',
    source: { at: 'oci:web', path: '.', targetRevision: '1.0.0', helm: { values: 'a: oci\n' } },
  },
  { name: 'revision-branch', repositories: { r: kept }, source: { at: 'git:r', path: '.', targetRevision: 'side' } },
  { name: 'revision-tag', repositories: { r: kept }, source: { at: 'git:r', path: '.', targetRevision: 'v1.1.0' } },
  {
    name: 'revision-constraint',
    repositories: { r: kept },
    source: { at: 'git:r', path: '.', targetRevision: 'v1.x' },
  },
  {
    name: 'revision-full-name',
    repositories: { r: kept },
    source: { at: 'git:r', path: '.', targetRevision: 'refs/heads/side' },
  },
  { name: 'login-https', source: { at: 'https', path: 'directory-flat' }, atLeast: 2 },
  { name: 'login-ssh', source: { at: 'ssh', path: 'directory-flat' }, atLeast: 2 },
];
