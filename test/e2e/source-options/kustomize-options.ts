import type { JsonObject } from '#base';
import { optionsOf } from './option.ts';
import type { SourceOption } from './option.ts';

const digest = `sha256:${'5'.repeat(64)}`;
const web = 'registry.example.com/web';
const label = { team: 'blue' };

const names: Readonly<Record<string, JsonObject>> = {
  'kustomize: empty': {},
  namePrefix: { namePrefix: 'pre-' },
  'namePrefix: a dash': { namePrefix: '-x-' },
  'namePrefix: capitals': { namePrefix: 'Pre_' },
  nameSuffix: { nameSuffix: '-suf' },
  namespace: { namespace: 'elsewhere' },
  '! version: not registered': { version: 'v9.9.9' },
  'replicas: a number': { replicas: [{ name: 'web', count: 3 }] },
  'replicas: a text': { replicas: [{ name: 'web', count: '4' }] },
  'replicas: zero': { replicas: [{ name: 'web', count: 0 }] },
  'replicas: twice': { replicas: ['2', '6'].map((count) => ({ name: 'web', count })) },
  '! replicas: no such workload': { replicas: [{ name: 'nothing', count: 2 }] },
  'replicas: a sign': { replicas: [{ name: 'web', count: '+2' }] },
  'replicas: negative': { replicas: [{ name: 'web', count: -1 }] },
  'kubeVersion, apiVersions': { kubeVersion: 'v1.28.5', apiVersions: ['example.com/v1', 'v1'] },
};

const images: Readonly<Record<string, JsonObject>> = {
  'images: a tag': { images: [`${web}:2.0`] },
  'images: a new name': { images: [`${web}=mirror.example.com:5000/team/web`] },
  'images: a new name and tag': { images: [`${web}=mirror.example.com/web:v3`] },
  'images: a digest': { images: [`${web}@${digest}`] },
  'images: a tag and a digest': { images: [`${web}=${web}:4@${digest}`] },
  'images: keep the name': { images: [`${web}=*:v9`] },
  'images: keep the tag': { images: [`${web}=other.example.com/web:*`] },
  'images: twice': { images: [`${web}:1`, `${web}:2`] },
  'images: no such image': { images: ['registry.example.com/nothing:1'] },
  'images: a variable': { images: [`${web}:$ARGOCD_APP_NAME-\${ARGOCD_APP_REVISION_SHORT}`] },
  'images: a number as tag': { images: [`${web}:20261130`] },
  '! images: neither tag nor name': { images: [web] },
  '! images: empty': { images: [''] },
};

const labels: Readonly<Record<string, JsonObject>> = {
  commonLabels: { commonLabels: label },
  'commonLabels: with a domain': { commonLabels: { 'app.kubernetes.io/part-of': 'shop' } },
  'commonLabels: odd values': { commonLabels: { number: '1', bool: 'true', empty: '' } },
  'commonLabels: a variable': { commonLabels: { application: '${ARGOCD_APP_NAME}', none: '$UNKNOWN' } },
  'commonLabels: in the layout': { commonLabels: { app: 'other', env: 'other', x: 'other' } },
  'commonLabels: forced': { commonLabels: { app: 'other', env: 'other', x: 'other' }, forceCommonLabels: true },
  labelWithoutSelector: { commonLabels: label, labelWithoutSelector: true },
  labelIncludeTemplates: { commonLabels: label, labelWithoutSelector: true, labelIncludeTemplates: true },
  'labelIncludeTemplates: with selectors': { commonLabels: label, labelIncludeTemplates: true },
  'labelWithoutSelector: no labels': { labelWithoutSelector: true, forceCommonLabels: true },
  'commonLabels: forced without selectors': {
    commonLabels: { app: 'other', team: 'red' },
    forceCommonLabels: true,
    labelWithoutSelector: true,
  },
  commonAnnotations: { commonAnnotations: { note: 'plain', 'a.example.com/b': 'with a domain' } },
  'commonAnnotations: odd values': {
    commonAnnotations: { a: 'x: y, "z"', b: "it's", c: '', d: '1', e: '{"json": [1]}', f: 'back\\slash', g: '#no' },
  },
  'commonAnnotations: lines': { commonAnnotations: { lines: 'one\ntwo\n' } },
  'commonAnnotations: a dollar': { commonAnnotations: { price: '$5 and ${ARGOCD_APP_NAME}' } },
  commonAnnotationsEnvsubst: {
    commonAnnotationsEnvsubst: true,
    commonAnnotations: {
      name: '${ARGOCD_APP_NAME}',
      all: '$ARGOCD_APP_NAMESPACE/$ARGOCD_APP_SOURCE_PATH@$ARGOCD_APP_SOURCE_TARGET_REVISION',
      dollars: '$$ $5 ${UNKNOWN}x $',
    },
  },
  'commonAnnotations: in the layout': { commonAnnotations: { old: '2', fleet: 'one', scrape: 'no' } },
  'commonAnnotations: forced': {
    commonAnnotations: { old: '2', fleet: 'one', scrape: 'no' },
    forceCommonAnnotations: true,
  },
};

const added = '- {op: add, path: /metadata/annotations/patched, value: "1"}';
const annotated = '- {op: add, path: /metadata/annotations, value: {patched: "1"}}';

const patches: Readonly<Record<string, JsonObject>> = {
  'patches: operations': { patches: [{ target: { kind: 'Deployment' }, patch: annotated }] },
  'patches: operations as JSON': {
    patches: [
      {
        target: { kind: 'Deployment' },
        patch: '[{"op":"replace","path":"/spec/template/spec/x","value":{"a":[1,null]}}]',
      },
    ],
  },
  'patches: into nothing': { patches: [{ target: { kind: 'Deployment' }, patch: added }] },
  'patches: merged': {
    patches: [
      {
        patch:
          'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  template:\n    spec:\n      containers:\n      - name: web\n        env:\n        - name: ADDED\n          value: "yes"\n',
      },
    ],
  },
  'patches: merged by target': {
    patches: [
      {
        target: { group: 'apps', version: 'v1', kind: 'Deployment' },
        patch: 'kind: Deployment\nmetadata: {name: any}\napiVersion: apps/v1\nspec: {paused: true}\n',
      },
    ],
  },
  'patches: a deletion': {
    patches: [
      { target: { kind: 'Service' }, patch: '$patch: delete\napiVersion: v1\nkind: Service\nmetadata: {name: web}\n' },
    ],
  },
  'patches: null in a map': {
    patches: [
      {
        target: { kind: 'ConfigMap' },
        patch: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: null, b: added}\n',
      },
    ],
  },
  'patches: a name as pattern': { patches: [{ target: { name: 'w.*' }, patch: annotated }] },
  'patches: by label': { patches: [{ target: { labelSelector: 'app=web,!none' }, patch: annotated }] },
  'patches: by annotation': { patches: [{ target: { annotationSelector: 'scrape' }, patch: annotated }] },
  'patches: by namespace': { patches: [{ target: { namespace: 'shop' }, patch: annotated }] },
  'patches: new name': {
    patches: [
      {
        target: { kind: 'Service', name: 'web' },
        patch: 'apiVersion: v1\nkind: Service\nmetadata: {name: renamed}\n',
        options: { allowNameChange: true },
      },
    ],
  },
  'patches: new name without the option': {
    patches: [
      { target: { kind: 'Service', name: 'web' }, patch: 'apiVersion: v1\nkind: Service\nmetadata: {name: renamed}\n' },
    ],
  },
  'patches: new kind': {
    patches: [
      {
        target: { kind: 'Deployment', name: 'web' },
        patch: '- {op: replace, path: /kind, value: StatefulSet}\n',
        options: { allowKindChange: true },
      },
    ],
  },
  'patches: in a file': { patches: [{ path: 'option-files/patch.yaml', target: { kind: 'Service' } }] },
  '! patches: in no file': { patches: [{ path: 'option-files/gone.yaml', target: { kind: 'Service' } }] },
  '! patches: without a target': { patches: [{ patch: 'apiVersion: v1\nkind: Gone\nmetadata: {name: gone}\n' }] },
  '! patches: several documents': {
    patches: [
      {
        target: { kind: 'Service' },
        patch:
          'apiVersion: v1\nkind: Service\nmetadata: {name: a, annotations: {one: "1"}}\n---\napiVersion: v1\nkind: Service\nmetadata: {name: b, annotations: {two: "2"}}\n',
      },
    ],
  },
  'patches: odd text': {
    patches: [
      {
        target: { kind: 'ConfigMap' },
        patch: `# a comment: "quoted"\r\n- op: add\r\n  path: /data/odd~1key\r\n  value: |\r\n    tab\t, trailing \r\n    ü ☃\r\n`,
      },
    ],
  },
  '! patches: empty': { patches: [{ target: { kind: 'Service' }, patch: '' }] },
  'patches: two that build on each other': {
    patches: [
      { target: { kind: 'Service' }, patch: annotated },
      {
        target: { kind: 'Service' },
        patch: '- {op: move, from: /metadata/annotations/patched, path: /metadata/annotations/moved}',
      },
    ],
  },
};

const components: Readonly<Record<string, JsonObject>> = {
  components: { components: ['option-files/component'] },
  'components: a slash at the end': { components: ['./option-files/component/'] },
  'components: two': { components: ['option-files/component', 'option-files/other'] },
  'components: the same twice': { components: ['option-files/component', 'option-files/component'] },
  '! components: missing': { components: ['option-files/gone'] },
  ignoreMissingComponents: { components: ['option-files/gone', 'option-files/other'], ignoreMissingComponents: true },
  'ignoreMissingComponents: all missing': { components: ['../gone', 'gone'], ignoreMissingComponents: true },
  'ignoreMissingComponents: no kustomization': { components: ['option-files'], ignoreMissingComponents: true },
  'ignoreMissingComponents: two': {
    components: ['option-files/component', 'option-files/other'],
    ignoreMissingComponents: true,
  },
  'ignoreMissingComponents: a file': { components: ['option-files/patch.yaml'], ignoreMissingComponents: true },
  '! components: an empty name': { components: [''] },
  '! components: an overlay': { components: ['option-files/overlay'] },
};

const build = (name: string, buildOptions: string): SourceOption => ({
  name: `buildOptions: ${name}`,
  kind: 'kustomize',
  request: { buildOptions },
});

export const kustomizeOptions: readonly SourceOption[] = [
  ...optionsOf('kustomize', { ...names, ...images, ...labels, ...patches, ...components }),
  build('helm', '--enable-helm'),
  build('no restrictions', '--load-restrictor LoadRestrictionsNone'),
  build('several', '  --enable-helm=true   --load-restrictor=LoadRestrictionsNone '),
  { name: 'destination', kind: 'kustomize', request: { appName: 'team_shop', namespace: 'shop' } },
  { name: 'override file', kind: 'kustomize', request: { appName: 'overridden' } },
];

const component = 'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n';

/** Files beside each kustomization, which options name. */
export const kustomizeFiles: Readonly<Record<string, string>> = {
  'option-files/component/kustomization.yaml': `${component}nameSuffix: -c\nresources: [extra.yaml]\n`,
  'option-files/component/extra.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: of-component}\ndata: {a: b}\n',
  'option-files/other/kustomization.yaml': `${component}labels: [{pairs: {other: component}, includeTemplates: true}]\n`,
  'option-files/overlay/kustomization.yaml': 'namePrefix: overlay-\n',
  'option-files/patch.yaml': '- {op: add, path: /spec/externalTrafficPolicy, value: Local}\n',
  '.argocd-source-overridden.yaml':
    'kustomize: {nameSuffix: -of-file, images: ["registry.example.com/web:of-file"], commonLabels: {team: file}}\n',
};
