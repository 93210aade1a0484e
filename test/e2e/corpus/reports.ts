import type { JsonObject } from '#base';
import { chart, configMap, crd, deployment, jsonOf, service, template, within, yaml } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

// Reports of users of Argo CD about the options of sources; each name has the number of its issue.

const shown: SourceFiles = chart({
  'values.yaml': 'schedule: never\nresources: {limits: {cpu: 200m, memory: 1Gi}}\nquota: {pods: 3}\nports: []\n',
  'templates/all.yaml': template({ all: '{{ .Values | toJson | quote }}' }),
  'templates/quota.yaml':
    '{{- with .Values.quota }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: quota}\ndata: {pods: {{ .pods | quote }}}\n{{- end }}\n',
});

const helm = (name: string, options: JsonObject, files: SourceFiles = shown): CorpusCase => ({
  name: `report-${name}`,
  files,
  source: { helm: options },
});

const web: SourceFiles = {
  'base/kustomization.yaml': 'resources: [app.yaml, svc.yaml]\n',
  'base/app.yaml': deployment('web'),
  'base/svc.yaml': service('web'),
};

const kustomize = (name: string, options: JsonObject, over = '', files: SourceFiles = {}): CorpusCase => ({
  name: `report-${name}`,
  files: { ...web, 'over/kustomization.yaml': `resources: [../base]\n${over}`, ...files },
  source: { path: `report-${name}/over`, kustomize: options },
  atLeast: 2,
});

/** A default that the chart above takes away. */
const withoutDefault: SourceFiles = {
  ...chart(
    {
      'values.yaml': 'job: {retryStrategy: null, kept: 1}\n',
      'templates/all.yaml': template({ all: '{{ .Values.job | toJson | quote }}' }),
    },
    'dependencies:\n- {name: job, version: 0.1.0}\n',
  ),
  ...within('charts/job', {
    'Chart.yaml': 'apiVersion: v2\nname: job\nversion: 0.1.0\n',
    'values.yaml': 'retryStrategy: {limit: "5", backoff: {duration: 1m}}\n',
    'templates/a.yaml': template({ retry: '{{ .Values.retryStrategy | toJson | quote }}' }, 'job'),
  }),
};

const inflated = (name: string, buildOptions: string): CorpusCase => ({
  name: `report-${name}`,
  files: {
    'kustomization.yaml': 'generators: [chart.yaml]\n',
    'chart.yaml':
      'apiVersion: builtin\nkind: HelmChartInflationGenerator\nmetadata: {name: inner}\nname: inner\nreleaseName: r\nvaluesInline: {resources: {limits: {cpu: null, memory: 2Gi}}}\n',
    ...within('charts/inner', shown),
  },
  buildOptions,
  atLeast: 2,
});

export const reportedCases: readonly CorpusCase[] = [
  helm('1660-comma', { parameters: [{ name: 'gitGC.schedule', value: '0 6,18 * * *' }] }),
  helm('19269-commas-and-dollars', { parameters: [{ name: 'containerPort', value: ',,,,,,,,$$$$$' }] }),
  helm('9941-dots-and-quotes', {
    parameters: [
      { name: 'redis.podAnnotations.sidecar\\.istio\\.io/inject', value: '"false"' },
      { name: 'redis.podAnnotations.sidecar\\.istio\\.io\\/other', value: 'false', forceString: true },
    ],
  }),
  helm('2046-index-of-an-index', {
    parameters: [
      { name: 'monitoring.select[0][0].params[0]', value: 'status' },
      { name: 'monitoring.select[0][0].type', value: 'field' },
    ],
  }),
  helm('7612-number-in-a-list', {
    parameters: [
      { name: 'ports[0]', value: '33336' },
      { name: 'heapOpts', value: '-Xmx4g -Xms4g' },
    ],
  }),
  helm('6397-long-number', {
    parameters: [
      { name: 'projectNumber', value: '880444307210' },
      { name: 'image.tag', value: '4651090' },
      { name: 'image.digits', value: '465109e06' },
    ],
  }),
  helm('14495-number-as-text', { parameters: [{ name: 'account', value: '73782378237', forceString: true }] }),
  helm('6303-empty-parameter', { parameters: [{ name: 'runAsUser', value: '' }, { name: 'fsGroup' }] }),
  helm('16312-null-in-an-object', {
    valuesObject: { resources: { requests: { cpu: '10m' }, limits: { cpu: null, memory: '64Mi' } } },
  }),
  helm('19781-null-by-text', { values: 'quota: ~\nlimitRange: ~\n' }),
  helm('19781-null-by-object', { valuesObject: { quota: null, limitRange: null } }),
  { ...helm('10779-null-for-a-subchart', {}, withoutDefault), atLeast: 2 },
  helm(
    '11529-order-of-all-values',
    {
      valueFiles: ['env.yaml'],
      values: 'schedule: text\nonly: text\n',
      parameters: [{ name: 'schedule', value: 'parameter' }],
      fileParameters: [{ name: 'schedule', path: 'Chart.yaml' }],
    },
    { ...shown, 'env.yaml': 'schedule: file\nof: file\n' },
  ),
  inflated('20808-null-in-an-inflated-chart', '--enable-helm'),
  kustomize('11345-dollars-as-they-are', {
    commonAnnotations: { price: '$ilikedollarsigns', app: '${ARGOCD_APP_NAME}' },
  }),
  kustomize('16010-variables', {
    commonAnnotationsEnvsubst: true,
    commonAnnotations: { 'app-source': '${ARGOCD_APP_NAME}', revision: '$ARGOCD_APP_REVISION_SHORT_8' },
  }),
  kustomize(
    '17328-labels-without-selectors',
    { commonLabels: { fleet: 'one' }, labelWithoutSelector: true },
    'labels: [{pairs: {a: b}}]\n',
  ),
  kustomize('15858-replicas-and-names', {
    namePrefix: 'prod-',
    nameSuffix: 'test',
    replicas: [{ name: 'web', count: '5' }],
    images: ['registry.example.com/web:2'],
  }),
  kustomize(
    '24308-component-without-a-kustomization',
    { components: ['zones/some'], ignoreMissingComponents: true },
    '',
    { 'over/zones/some/app.yaml': configMap('not-a-component') },
  ),
  // kustomize counts a name of an earlier transformation, too.
  kustomize('15858-replicas-by-the-final-name', {
    namePrefix: 'prod-',
    nameSuffix: 'test',
    replicas: [{ name: 'prod-webtest', count: '5' }],
  }),
  kustomize(
    '29417-image-by-its-first-name',
    { images: ['my-image=registry.example.com/team/other:tag'] },
    'images: [{name: my-image, newName: registry.example.com/team/image, newTag: main, digest: "sha256:6666666666666666666666666666666666666666666666666666666666666666"}]\n',
    { 'base/app.yaml': deployment('web', 'my-image') },
  ),
  kustomize('19459-variables-in-patches-stay', {
    patches: [
      {
        target: { kind: 'Deployment' },
        patch: '- {op: add, path: /metadata/labels/version, value: "${ARGOCD_APP_REVISION_SHORT}"}\n',
      },
    ],
  }),
  kustomize('23643-options-of-an-override-file', { namePrefix: 'a-' }, '', {
    'over/.argocd-source.yaml': 'kustomize: {namePrefix: b-, commonAnnotations: {from: file}}\n',
  }),
  {
    name: 'report-4839-linked-libraries',
    files: {
      'main.jsonnet': "local m = import 'short/map.libsonnet'; [m.map('a')]\n",
      'vendor/example.com/long/map.libsonnet':
        "{ map(name):: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name } } }\n",
      'vendor/short': '-> example.com/long',
    },
    source: { directory: { jsonnet: { libs: ['report-4839-linked-libraries/vendor'] } } },
  },
  {
    name: 'report-13220-file-parameter-elsewhere',
    files: shown,
    repositories: { r: { 'schema.json': jsonOf({ type: 'object' }), 'values.yaml': 'schedule: elsewhere\n' } },
    sources: [
      {
        path: 'report-13220-file-parameter-elsewhere',
        helm: {
          valueFiles: ['$mine/values.yaml'],
          fileParameters: [{ name: 'identity', path: '$mine/schema.json' }],
        },
      },
      { at: 'git:r', ref: 'mine' },
    ],
  },
  {
    name: 'report-2466-label-in-a-variable',
    files: {
      'kustomization.yaml':
        'resources: [all.yaml]\nvars: [{name: INSTANCE, objref: {apiVersion: v1, kind: Service, name: web}, fieldref: {fieldpath: metadata.labels.instance}}]\nconfigurations: [vars.yaml]\n',
      'vars.yaml': 'varReference: [{kind: ConfigMap, path: data/host}]\n',
      'all.yaml': yaml(
        service('web'),
        configMap('settings', { host: '$(INSTANCE).example.com' }),
        crd('reports', 'Report'),
      ),
    },
    source: { kustomize: { commonLabels: { instance: '$ARGOCD_APP_NAME' } } },
    atLeast: 3,
  },
];

/** Reports of sources that do not render, in either. */
export const brokenReports: readonly (CorpusCase & { readonly says: RegExp })[] = [
  {
    name: 'report-16352-patches-without-a-kustomization',
    files: { 'app.yaml': deployment('web') },
    source: { kustomize: { patches: [{ target: { kind: 'Deployment' }, patch: '- {op: remove, path: /spec}\n' }] } },
    says: /kustomization file not found|failed to load kustomization\.yaml/,
  },
  {
    name: 'report-4541-json-without-a-kind',
    files: { 'main.jsonnet': '[]\n', 'jsonnetfile.json': jsonOf({ version: 1, dependencies: [] }) },
    source: { directory: { recurse: true } },
    says: /Object 'Kind' is missing/,
  },
];
