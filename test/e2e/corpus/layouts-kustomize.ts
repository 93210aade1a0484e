import { configMap, crd, deployment, jsonOf, service, template, within, yaml } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

// Overlays in the style of what people have, with the rarer fields of kustomizations.

const layout = (
  name: string,
  path: string,
  files: SourceFiles,
  more: Omit<Partial<CorpusCase>, 'name' | 'files'> = {},
): CorpusCase => ({
  name,
  files,
  atLeast: 3,
  ...more,
  source: { ...more.source, path: `${name}/${path}` },
});

/** A workload whose pods use everything by name. */
const workload = `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, labels: {app: store}}
spec:
  serviceName: store
  replicas: 2
  selector: {matchLabels: {app: store}}
  template:
    metadata: {labels: {app: store}}
    spec:
      serviceAccountName: store
      initContainers:
      - {name: prepare, image: "registry.example.com/prepare:1", envFrom: [{configMapRef: {name: env}}]}
      containers:
      - name: store
        image: registry.example.com/store@sha256:3333333333333333333333333333333333333333333333333333333333333333
        env:
        - {name: PASSWORD, valueFrom: {secretKeyRef: {name: keys, key: password}}}
        - {name: LEVEL, valueFrom: {configMapKeyRef: {name: env, key: LEVEL}}}
        volumeMounts: [{name: conf, mountPath: /conf}]
      volumes:
      - {name: conf, projected: {sources: [{configMap: {name: conf}}, {secret: {name: keys}}]}}
  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]
`;

/** Objects that name others: all names change together. */
const referring = yaml(
  'apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: store}\n',
  'apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: store}\nrules: [{apiGroups: [""], resources: [configmaps], resourceNames: [conf], verbs: [get]}]\n',
  'apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: store}\nroleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: store}\nsubjects: [{kind: ServiceAccount, name: store, namespace: default}, {kind: User, name: someone}]\n',
  'apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: store}\nspec:\n  tls: [{secretName: keys}]\n  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: store, port: {number: 80}}}}]}}]\n',
  'apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: store}\nspec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: StatefulSet, name: store}}\n',
  'apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: store}\nspec: {minAvailable: 50%, selector: {matchLabels: {app: store}}}\n',
  'apiVersion: networking.k8s.io/v1\nkind: NetworkPolicy\nmetadata: {name: store}\nspec:\n  podSelector: {matchLabels: {app: store}}\n  ingress: [{from: [{podSelector: {matchLabels: {app: web}}}]}]\n',
  'apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata: {name: store}\nwebhooks: [{name: a.example.com, admissionReviewVersions: [v1], sideEffects: None, clientConfig: {service: {name: store, namespace: default}}}]\n',
);

const store: SourceFiles = {
  'base/kustomization.yaml':
    'resources: [workload.yaml, svc.yaml, referring.yaml]\nconfigMapGenerator:\n- {name: env, envs: [app.env], literals: [EXTRA=a=b]}\n' +
    '- {name: conf, files: [conf/app.ini, renamed.ini=conf/other.ini]}\nsecretGenerator:\n- {name: keys, type: kubernetes.io/basic-auth, literals: [username=u, password=example]}\n',
  'base/workload.yaml': workload,
  'base/svc.yaml': service('store').replace('spec:\n', 'spec:\n  clusterIP: None\n'),
  'base/referring.yaml': referring,
  'base/app.env': '# levels\nLEVEL=info\nEMPTY=\n\nQUOTED="as it is"\n',
  'base/conf/app.ini': '[app]\nname = store\n',
  'base/conf/other.ini': 'trailing = space \n\n',
};

const generators = 'configMapGenerator:\n- {name: env, behavior: merge, envs: [prod.env], literals: [ADDED=yes]}\n';

const storeCases: readonly CorpusCase[] = [
  layout('layout-store-names', 'over', {
    ...store,
    'over/kustomization.yaml': 'resources: [../base]\nnamePrefix: eu-\nnameSuffix: -two\nnamespace: shop\n',
  }),
  layout('layout-store-behaviors', 'over', {
    ...store,
    'over/kustomization.yaml':
      `resources: [../base]\n${generators}- {name: conf, behavior: replace, files: [app.ini]}\n- {name: fresh, behavior: create, literals: [a=1], options: {disableNameSuffixHash: true, immutable: true, labels: {own: "1"}}}\n` +
      'secretGenerator: [{name: keys, behavior: merge, literals: [password=other]}]\n' +
      'generatorOptions: {labels: {made: generated}, annotations: {note: "all of them"}}\n',
    'over/prod.env': 'LEVEL=warn\n',
    'over/app.ini': '[app]\nname = prod\n',
  }),
  layout('layout-store-variants', '.', {
    ...store,
    'kustomization.yaml': 'resources: [eu, us]\ncommonAnnotations: {fleet: both}\nlabels: [{pairs: {fleet: both}}]\n',
    'eu/kustomization.yaml': `resources: [../base]\nnamePrefix: eu-\nnamespace: eu\n${generators}`,
    'eu/prod.env': 'LEVEL=eu\n',
    'us/kustomization.yaml': `resources: [../base]\nnamePrefix: us-\nnamespace: us\n${generators}`,
    'us/prod.env': 'LEVEL=us\n',
  }),
  layout('layout-store-labels', 'over', {
    ...store,
    'over/kustomization.yaml':
      'resources: [../base]\ncommonLabels: {all: "1"}\nlabels:\n- {pairs: {template: "1"}, includeTemplates: true}\n- {pairs: {plain: "1"}}\n' +
      '- {pairs: {claim: "1"}, fields: [{kind: StatefulSet, path: "spec/volumeClaimTemplates[]/metadata/labels", create: true}]}\n',
  }),
  layout(
    'layout-store-options',
    'over',
    {
      ...store,
      'over/kustomization.yaml':
        'resources: [../base]\nimages:\n- {name: registry.example.com/store, newName: mirror.example.com/store, newTag: "3"}\n- {name: registry.example.com/prepare, digest: "sha256:4444444444444444444444444444444444444444444444444444444444444444"}\n' +
        'replicas: [{name: store, count: 5}]\n',
      'more/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nresources: [cm.yaml]\npatches: [{path: scale.yaml, target: {kind: HorizontalPodAutoscaler}}]\n',
      'more/cm.yaml': configMap('more'),
      'more/scale.yaml':
        '- {op: test, path: /spec/maxReplicas, value: 3}\n- {op: replace, path: /spec/maxReplicas, value: 9}\n',
    },
    {
      source: {
        kustomize: {
          components: ['../more'],
          images: ['registry.example.com/prepare=prepare:2'],
          replicas: [{ name: 'store', count: 7 }],
          commonLabels: { team: 'store' },
          labelWithoutSelector: true,
          namespace: 'asked',
          nameSuffix: '-asked',
          patches: [{ patch: '- {op: remove, path: /spec/tls}', target: { kind: 'Ingress' } }],
        },
      },
    },
  ),
];

const web: SourceFiles = {
  'base/kustomization.yaml': 'resources: [app.yaml, svc.yaml, cm.yaml]\n',
  'base/app.yaml': yaml(deployment('web'), deployment('worker'), deployment('job-runner')),
  'base/svc.yaml': service('web').replace('name: web\n', 'name: web\n  annotations: {scrape: "true"}\n'),
  'base/cm.yaml': configMap('settings', { host: 'unset', url: 'http://unset:80/path', list: 'a.b.c' }),
};

const overWeb = (name: string, text: string, files: SourceFiles = {}, more: Partial<CorpusCase> = {}): CorpusCase =>
  layout(name, 'over', { ...web, 'over/kustomization.yaml': `resources: [../base]\n${text}`, ...files }, more);

const patchCases: readonly CorpusCase[] = [
  overWeb(
    'layout-patches-by-label',
    'patches:\n- {path: replicas.yaml, target: {labelSelector: "app in (web, worker)"}}\n- {path: scrape.yaml, target: {annotationSelector: scrape=true}}\n' +
      '- target: {kind: Deployment, name: "w.*r"}\n  patch: |-\n    - {op: copy, from: /metadata/labels/app, path: /metadata/labels/copied}\n    - {op: move, from: /spec/replicas, path: /spec/minReadySeconds}\n' +
      '- patch: |-\n    $patch: delete\n    apiVersion: apps/v1\n    kind: Deployment\n    metadata: {name: job-runner}\n' +
      '- target: {kind: ConfigMap}\n  patch: |-\n    apiVersion: v1\n    kind: ConfigMap\n    metadata: {name: renamed}\n    data: {host: null, added: "1"}\n  options: {allowNameChange: true}\n',
    {
      'over/replicas.yaml': jsonOf([{ op: 'add', path: '/spec/replicas', value: 4 }]),
      'over/scrape.yaml': '- {op: add, path: /spec/ports/-, value: {port: 9090, name: metrics}}\n',
    },
  ),
  overWeb(
    'layout-patches-strategic',
    'patchesStrategicMerge:\n- containers.yaml\n- |-\n  apiVersion: v1\n  kind: Service\n  metadata: {name: web}\n  spec: {$patch: replace, ports: [{port: 443}]}\n' +
      'patchesJson6902:\n- {target: {group: apps, version: v1, kind: Deployment, name: worker}, path: json.yaml}\n',
    {
      'over/containers.yaml': yaml(
        'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      $setElementOrder/containers: [{name: proxy}, {name: web}]\n' +
          '      containers:\n      - {name: proxy, image: "proxy:1"}\n      - {name: web, env: [{name: A, value: "1"}], resources: {limits: {cpu: 1}}}\n',
        'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: job-runner}\nspec:\n  strategy: {$retainKeys: [type], type: Recreate}\n  template: {spec: {containers: [{name: web, $patch: delete}, {name: job, image: "job:1"}]}}\n',
      ),
      'over/json.yaml': '- op: replace\n  path: /spec/template/spec/containers/0/image\n  value: worker:2\n',
    },
  ),
  overWeb(
    'layout-replacements',
    'replacements:\n- path: host.yaml\n- source: {kind: Deployment, name: web, fieldPath: "spec.template.spec.containers.[name=web].image", options: {delimiter: ":", index: 0}}\n' +
      '  targets:\n  - select: {kind: Deployment}\n    reject: [{name: job-runner}]\n    fieldPaths: [metadata.labels.version, spec.template.metadata.labels.version]\n    options: {create: true}\n' +
      '- source: {kind: ConfigMap, name: made, fieldPath: data.part}\n  targets:\n  - select: {kind: ConfigMap, name: settings}\n    fieldPaths: [data.list]\n    options: {delimiter: ".", index: 1}\n' +
      'configMapGenerator: [{name: made, literals: [part=middle]}]\n',
    {
      'over/host.yaml':
        'source: {kind: Service, name: web}\ntargets:\n- select: {kind: ConfigMap, name: settings}\n  fieldPaths: [data.host]\n' +
        '- select: {kind: ConfigMap, name: settings}\n  fieldPaths: [data.url]\n  options: {delimiter: /, index: 2}\n',
    },
  ),
  overWeb(
    'layout-vars',
    'namePrefix: p-\nvars:\n- {name: SERVICE, objref: {apiVersion: v1, kind: Service, name: web}}\n- {name: REPLICAS, objref: {apiVersion: apps/v1, kind: Deployment, name: web}, fieldref: {fieldpath: spec.replicas}}\n' +
      'configurations: [vars.yaml]\npatches: [{path: env.yaml}]\n',
    {
      'over/vars.yaml':
        'varReference:\n- {kind: ConfigMap, path: data/host}\n- {kind: Deployment, path: metadata/annotations}\n',
      'over/env.yaml': yaml(
        'apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: worker, annotations: {to: $(SERVICE)}}\nspec: {template: {spec: {containers: [{name: web, args: ["--to=$(SERVICE):$(REPLICAS)", "$(UNKNOWN)"]}]}}}\n',
        configMap('settings', { host: '$(SERVICE).svc' }),
      ),
    },
  ),
  overWeb(
    'layout-transformers',
    'transformers:\n- labels.yaml\n- |-\n  apiVersion: builtin\n  kind: PrefixTransformer\n  metadata: {name: prefix}\n  prefix: t-\n  fieldSpecs: [{kind: Deployment, path: metadata/name}]\n' +
      '- namespace.yaml\ngenerators:\n- |-\n  apiVersion: builtin\n  kind: ConfigMapGenerator\n  metadata: {name: generated}\n  literals: [a=b]\n',
    {
      'over/labels.yaml': yaml(
        'apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: labels}\nlabels: {tier: front}\nfieldSpecs: [{path: metadata/labels, create: true}, {kind: Deployment, path: spec/template/metadata/labels}]\n',
        'apiVersion: builtin\nkind: ReplicaCountTransformer\nmetadata: {name: count}\nreplica: {name: worker, count: 6}\nfieldSpecs: [{kind: Deployment, path: spec/replicas, create: true}]\n',
        'apiVersion: builtin\nkind: AnnotationsTransformer\nmetadata: {name: notes}\nannotations: {by: transformer}\nfieldSpecs: [{path: metadata/annotations, create: true}]\n',
      ),
      'over/namespace.yaml':
        'apiVersion: builtin\nkind: NamespaceTransformer\nmetadata: {name: ns, namespace: set-here}\nunsetOnly: true\nfieldSpecs: [{path: metadata/namespace, create: true}]\n',
    },
  ),
  overWeb(
    'layout-origin',
    'buildMetadata: [originAnnotations, transformerAnnotations, managedByLabel]\nnamePrefix: o-\nsortOptions: {order: legacy, legacySortOptions: {orderFirst: [Service], orderLast: [ConfigMap]}}\nconfigMapGenerator: [{name: made, literals: [a=b]}]\n',
  ),
];

/** Custom resources: names in their fields, and lists that are merged by a key of their schema. */
const customCases: readonly CorpusCase[] = [
  layout(
    'layout-custom-references',
    'over',
    {
      'base/kustomization.yaml':
        'resources: [crd.yaml, gadget.yaml, svc.yaml]\nconfigMapGenerator: [{name: conf, literals: [a=b]}]\nconfigurations: [names.yaml]\n',
      'base/crd.yaml': crd('gadgets', 'Gadget'),
      'base/gadget.yaml':
        'apiVersion: corpus.example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec:\n  conf: conf\n  to: [{service: web}]\n  pod: {image: "gadget:1", labels: {}}\n',
      'base/svc.yaml': service('web'),
      'base/names.yaml':
        'nameReference:\n- {kind: ConfigMap, fieldSpecs: [{kind: Gadget, path: spec/conf}]}\n- {kind: Service, version: v1, fieldSpecs: [{kind: Gadget, path: "spec/to[]/service"}]}\n' +
        'images: [{kind: Gadget, path: spec/pod/image}]\ncommonLabels: [{kind: Gadget, path: spec/pod/labels, create: true}]\nnamespace: [{kind: Gadget, path: spec/inNamespace, create: true}]\n',
      'over/kustomization.yaml':
        'resources: [../base]\nnamePrefix: n-\nnamespace: there\nimages: [{name: gadget, newTag: "2"}]\ncommonLabels: {x: z}\nconfigurations: [../base/names.yaml]\n',
    },
    { buildOptions: '--load-restrictor LoadRestrictionsNone' },
  ),
  layout('layout-custom-schema', 'over', {
    'base/kustomization.yaml': 'resources: [gadget.yaml, cm.yaml, svc.yaml]\n',
    'base/gadget.yaml':
      'apiVersion: corpus.example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec:\n  parts: [{name: a, size: 1}, {name: b, size: 2}]\n  plain: [1, 2]\n',
    'base/cm.yaml': configMap('settings'),
    'base/svc.yaml': service('web'),
    'over/kustomization.yaml':
      'resources: [../base]\nopenapi: {path: schema.json}\ncrds: [crds.json]\npatches: [{path: patch.yaml}]\n',
    'over/patch.yaml':
      'apiVersion: corpus.example.com/v1\nkind: Gadget\nmetadata: {name: g}\nspec:\n  parts: [{name: b, size: 9}, {name: c, size: 3}]\n  plain: [3]\n',
    'over/schema.json': jsonOf({
      definitions: {
        'v1.Gadget': {
          type: 'object',
          properties: {
            spec: {
              type: 'object',
              properties: {
                parts: {
                  type: 'array',
                  items: { type: 'object', properties: { name: { type: 'string' }, size: { type: 'integer' } } },
                  'x-kubernetes-patch-merge-key': 'name',
                  'x-kubernetes-patch-strategy': 'merge',
                },
              },
            },
          },
          'x-kubernetes-group-version-kind': [{ group: 'corpus.example.com', version: 'v1', kind: 'Gadget' }],
        },
      },
    }),
    'over/crds.json': jsonOf({
      'github.com/example/corpus/v1.Gadget': {
        Schema: {
          properties: { apiVersion: { type: 'string' }, kind: { type: 'string' }, metadata: { type: 'object' } },
        },
        Dependencies: [],
      },
    }),
  }),
];

const inner: SourceFiles = within('charts/inner', {
  'Chart.yaml': 'apiVersion: v2\nname: inner\nversion: 0.1.0\n',
  'values.yaml': 'size: 1\nextra: {}\n',
  'crds/parts.yaml': crd('parts', 'Part'),
  'templates/cm.yaml': template(
    { size: '{{ .Values.size | quote }}', extra: '{{ toJson .Values.extra | quote }}', ns: '{{ .Release.Namespace }}' },
    '{{ .Release.Name }}-cm',
  ),
  'templates/app.yaml': deployment('"{{ .Release.Name }}"'),
  'templates/hook.yaml': configMap('"{{ .Release.Name }}-hook"').replace(
    'metadata:\n',
    'metadata:\n  annotations: {helm.sh/hook: post-install}\n',
  ),
  'templates/tests/test.yaml': configMap('"{{ .Release.Name }}-test"').replace(
    'metadata:\n',
    'metadata:\n  annotations: {helm.sh/hook: test}\n',
  ),
});

/** One chart under several names, whose objects components and other overlays change. */
const inflated: CorpusCase = layout(
  'layout-inflated-twice',
  'top',
  {
    ...within('over', {
      ...inner,
      'kustomization.yaml':
        'helmCharts:\n- {name: inner, releaseName: one, includeCRDs: true, skipTests: true, valuesInline: {size: 3}}\n' +
        '- {name: inner, releaseName: two, namespace: second, skipHooks: true, valuesFile: two.yaml, apiVersions: [x.example.com/v1], kubeVersion: 1.31.0}\n' +
        'components: [../component]\nnamespace: all\n',
      'two.yaml': 'size: 2\nextra: {deep: [1, {a: b}]}\n',
    }),
    'component/kustomization.yaml':
      'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\nimages: [{name: registry.example.com/web, newTag: "7"}]\n' +
      'patches:\n- {target: {kind: ConfigMap, name: ".*-cm"}, patch: "- {op: add, path: /data/patched, value: component}"}\n',
    'top/kustomization.yaml': 'resources: [../over]\nnamePrefix: top-\n',
  },
  { buildOptions: '--enable-helm' },
);

export const kustomizeLayouts: readonly CorpusCase[] = [...storeCases, ...patchCases, ...customCases, inflated];
