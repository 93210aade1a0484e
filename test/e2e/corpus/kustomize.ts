import { configMap, deployment, service, template } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

const base: SourceFiles = {
  'base/kustomization.yaml': 'resources: [app.yaml, svc.yaml, cm.yaml]\n',
  'base/app.yaml': deployment('web'),
  'base/svc.yaml': service('web'),
  'base/cm.yaml': configMap('settings', { a: 'base' }),
};

/** An overlay over `base`, rendered from its folder. */
const overlay = (
  name: string,
  more: string,
  source: CorpusCase['source'] = {},
  files: SourceFiles = {},
): CorpusCase => ({
  name,
  files: { ...base, 'over/kustomization.yaml': `resources: [../base]\n${more}`, ...files },
  source: { path: `${name}/over`, ...source },
  atLeast: 3,
});

const replicasPatch = '- op: replace\n  path: /spec/replicas\n  value: 7\n';

/** Kustomizations: options of the source, and features of kustomization files. */
export const kustomizeCases: readonly CorpusCase[] = [
  overlay('kustomize-plain', ''),
  overlay('kustomize-empty-options', '', { kustomize: {} }),
  {
    name: 'kustomize-other-names',
    files: {
      Kustomization: 'resources: [x.yaml]\nnamePrefix: k-\n',
      'x.yaml': configMap('x'),
      'y.yaml': configMap('y'),
    },
  },
  { name: 'kustomize-yml', files: { 'kustomization.yml': 'resources: [x.yaml]\n', 'x.yaml': configMap('x') } },
  overlay('kustomize-images', '', {
    kustomize: {
      images: [
        'registry.example.com/web:2.0',
        'other=registry.example.com/other@sha256:1111111111111111111111111111111111111111111111111111111111111111',
      ],
    },
  }),
  overlay('kustomize-image-renamed', '', {
    kustomize: { images: ['registry.example.com/web=mirror.example.com:5000/web:${ARGOCD_APP_NAME}'] },
  }),
  overlay('kustomize-replicas', '', { kustomize: { replicas: [{ name: 'web', count: 3 }] } }),
  overlay('kustomize-replicas-text', '', { kustomize: { replicas: [{ name: 'web', count: '4' }] } }),
  overlay('kustomize-patch', '', {
    kustomize: { patches: [{ target: { kind: 'Deployment', name: 'web' }, patch: replicasPatch }] },
  }),
  overlay(
    'kustomize-patch-file',
    'patches:\n- patch: |-\n    - {op: add, path: /metadata/annotations, value: {first: "1"}}\n  target: {kind: Deployment}\n',
    {
      kustomize: {
        patches: [
          { path: 'patch.yaml', target: { labelSelector: 'app=web', kind: 'Deployment' } },
          {
            patch: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings-new}\ndata: {b: patched}\n',
            target: { kind: 'ConfigMap', name: 'settings' },
            options: { allowNameChange: true },
          },
        ],
      },
    },
    { 'over/patch.yaml': replicasPatch },
  ),
  overlay(
    'kustomize-components',
    '',
    { kustomize: { components: ['../component', '../other'] } },
    {
      'component/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnameSuffix: -c\nresources: [extra.yaml]\n',
      'component/extra.yaml': configMap('extra'),
      'other/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {o: "1"}\n',
    },
  ),
  overlay(
    'kustomize-components-missing',
    '',
    { kustomize: { ignoreMissingComponents: true, components: ['../gone', '../component'] } },
    {
      'component/kustomization.yaml': 'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nnamePrefix: c-\n',
    },
  ),
  overlay('kustomize-labels', '', {
    kustomize: { commonLabels: { team: 'blue', app: '$ARGOCD_APP_NAME' }, forceCommonLabels: true },
  }),
  overlay('kustomize-labels-without-selector', '', {
    kustomize: { commonLabels: { team: 'blue' }, labelWithoutSelector: true },
  }),
  overlay('kustomize-labels-templates', '', {
    kustomize: { commonLabels: { team: 'blue' }, labelWithoutSelector: true, labelIncludeTemplates: true },
  }),
  overlay('kustomize-annotations', 'commonAnnotations: {old: "1"}\n', {
    kustomize: {
      commonAnnotations: { old: '2', name: '$ARGOCD_APP_NAME', path: '${ARGOCD_APP_SOURCE_PATH}' },
      forceCommonAnnotations: true,
      commonAnnotationsEnvsubst: true,
    },
  }),
  overlay('kustomize-annotations-as-they-are', '', { kustomize: { commonAnnotations: { name: '$ARGOCD_APP_NAME' } } }),
  overlay('kustomize-names', '', { kustomize: { namePrefix: 'pre-', nameSuffix: '-suf', namespace: 'elsewhere' } }),
  overlay('kustomize-dash', '', { kustomize: { namePrefix: '-x-' } }),
  overlay(
    'kustomize-generators',
    'configMapGenerator:\n- name: files\n  files: [text.txt, renamed.txt=text.txt]\n  literals: [a=b, c=d e]\n- {name: settings, behavior: merge, literals: [a=over]}\n' +
      'secretGenerator:\n- {name: keys, envs: [keys.env], type: Opaque}\ngeneratorOptions: {labels: {made: "yes"}}\n',
    {},
    {
      'over/text.txt': 'text\n',
      'over/keys.env': 'user=me\npassword=example\n',
      'base/kustomization.yaml':
        'resources: [app.yaml, svc.yaml]\nconfigMapGenerator: [{name: settings, literals: [a=base, z=1]}]\n',
    },
  ),
  overlay(
    'kustomize-replacements',
    'replacements:\n- source: {kind: ConfigMap, name: settings, fieldPath: data.a}\n  targets:\n  - select: {kind: Deployment}\n    fieldPaths: [metadata.annotations.copied]\n    options: {create: true}\n' +
      'labels:\n- {pairs: {x: z}, includeSelectors: false}\nimages: [{name: registry.example.com/web, newTag: "9"}]\nnamespace: own\n',
    { kustomize: { images: ['registry.example.com/web:10'], namespace: 'asked' } },
  ),
  {
    ...overlay(
      'kustomize-load-restrictor',
      '',
      {},
      { 'over/kustomization.yaml': 'resources: [../base, ../outside.yaml]\n', 'outside.yaml': configMap('outside') },
    ),
    buildOptions: '--load-restrictor LoadRestrictionsNone',
  },
  {
    ...overlay(
      'kustomize-helm-inside',
      'helmCharts: [{name: inner, releaseName: r, valuesInline: {v: from-kustomize}}]\nhelmGlobals: {chartHome: charts}\n',
      {},
      {
        'over/charts/inner/Chart.yaml': 'apiVersion: v2\nname: inner\nversion: 0.1.0\n',
        'over/charts/inner/values.yaml': 'v: default\n',
        'over/charts/inner/templates/cm.yaml': template({
          v: '{{ .Values.v }}',
          k: '{{ .Capabilities.KubeVersion.Version }}',
        }),
      },
    ),
    buildOptions: '--enable-helm',
  },
  overlay(
    'kustomize-single-file',
    '',
    {},
    {
      'over/kustomization.yaml':
        'resources: [../base, CHARTS/manifests/far.yaml]\n' +
        'configMapGenerator: [{name: made, files: [CHARTS/values/remote.yaml, k=CHARTS/values/remote.yaml]}]\n',
    },
  ),
  {
    ...overlay(
      'kustomize-helm-pulled',
      'helmCharts:\n' +
        '- {name: web, repo: CHARTS, version: 1.0.7, releaseName: one, namespace: there, valuesInline: {a: inline}}\n' +
        '- {name: web, repo: CHARTS, version: 1.x, releaseName: two, additionalValuesFiles: [v.yaml]}\n' +
        '- {name: web, repo: CHARTS, releaseName: three}\n',
      {},
      { 'over/v.yaml': 'b: of the overlay\n' },
    ),
    buildOptions: '--enable-helm',
    atLeast: 4,
  },
  overlay(
    'kustomize-override',
    '',
    { kustomize: { namePrefix: 'spec-', nameSuffix: '-spec' } },
    {
      'over/.argocd-source.yaml': 'kustomize: {namePrefix: file-, images: ["registry.example.com/web:override"]}\n',
    },
  ),
  overlay(
    'kustomize-override-maps',
    '',
    {
      kustomize: {
        commonLabels: { team: 'blue', only: 'spec' },
        commonAnnotations: { a: '1' },
        namePrefix: 'p-',
        replicas: [{ name: 'web', count: 2 }],
        patches: [{ target: { kind: 'ConfigMap' }, patch: '- {op: add, path: /data/x, value: y1}\n' }],
      },
    },
    {
      'over/.argocd-source.yaml':
        'kustomize: {commonLabels: {only: null, more: "2"}, commonAnnotations: null, namePrefix: null, replicas: [{name: web, count: "5"}], patches: [{patch: "- {op: add, path: /data/x, value: y2}"}]}\n',
    },
  ),
  {
    name: 'kustomize-as-plain-files',
    files: { ...base, 'x.yaml': configMap('x'), 'kustomization.yaml': 'resources: [base]\n' },
    source: { directory: {} },
  },
];
