import { chart, configMap, crd, deployment, jsonOf, service, template, within, yaml } from './case.ts';
import type { CorpusCase, CorpusSource, SourceFiles } from './case.ts';

// Folders in the style of what people have, each whole and in some variants.

/** Every combination of on and off. */
function combinations(names: readonly string[]): readonly Readonly<Record<string, boolean>>[] {
  return Array.from({ length: 2 ** names.length }, (_, bits) =>
    Object.fromEntries(names.map((name, i) => [name, ((bits >> i) & 1) === 1])),
  );
}

const shown = (on: Readonly<Record<string, boolean>>): string =>
  Object.keys(on)
    .filter((name) => on[name])
    .join('-') || 'none';

/** Components that build on others, patch what those add, and are switched on by environments. */
const components: SourceFiles = {
  'base/kustomization.yaml': 'resources: [app.yaml, svc.yaml]\nconfigMapGenerator: [{name: env, literals: [A=base]}]\n',
  'base/app.yaml': deployment('web'),
  'base/svc.yaml': service('web'),
  ...component('metrics', 'components: [../ports]\npatches: [{path: patch.yaml, target: {kind: Deployment}}]\n', {
    'patch.yaml': '- {op: add, path: /metadata/annotations, value: {scrape: "true"}}\n',
  }),
  ...component('ports', 'patches: [{path: patch.yaml}]\n', {
    'patch.yaml': deploymentPatch('- {name: web, ports: [{containerPort: 9090, name: metrics}]}'),
  }),
  ...component(
    'cache',
    'resources: [cache.yaml]\nconfigMapGenerator: [{name: env, behavior: merge, literals: [C=on]}]\n',
    {
      'cache.yaml': yaml(deployment('cache', 'registry.example.com/cache:7'), service('cache')),
    },
  ),
  ...component('slim', 'patches: [{path: patch.yaml}]\nreplicas: [{name: web, count: 1}]\n', {
    'patch.yaml': deploymentPatch('- {name: web, resources: {limits: {memory: 64Mi}}}'),
  }),
};

function component(name: string, text: string, files: SourceFiles): SourceFiles {
  const head = 'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n';
  return within(`components/${name}`, { 'kustomization.yaml': head + text, ...files });
}

function deploymentPatch(containers: string): string {
  return `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  template:\n    spec:\n      containers:\n      ${containers}\n`;
}

const componentCases = combinations(['metrics', 'cache', 'slim']).map((on): CorpusCase => {
  const name = `layout-components-${shown(on)}`;
  const list = Object.keys(on).filter((one) => on[one]);
  const used = list.length === 0 ? '' : `components: [${list.map((one) => `../../components/${one}`).join(', ')}]\n`;
  const over = `resources: [../../base]\n${used}namespace: shop\nlabels: [{pairs: {env: prod}, includeSelectors: true}]\n`;
  return {
    name,
    files: { ...components, 'envs/prod/kustomization.yaml': over },
    source: { path: `${name}/envs/prod` },
    atLeast: 3,
  };
});

/** A chart inside an overlay whose values come from files and inline, merged in each way. */
const inflatedCases = ['merge', 'override', 'replace'].map((valuesMerge): CorpusCase => {
  const name = `layout-inflated-${valuesMerge}`;
  const values = 'a: chart\nmap: {x: chart, y: chart}\nlist: [chart]\n';
  const inline = `valuesMerge: ${valuesMerge}\n  valuesInline: {map: {x: inline}, list: [inline], added: {deep: true}}\n`;
  return {
    name,
    files: {
      ...within('over/charts/inner', {
        'Chart.yaml': 'apiVersion: v2\nname: inner\nversion: 0.1.0\n',
        'values.yaml': values,
        'templates/a.yaml': template({ all: '{{ .Values | toJson | quote }}' }, '{{ .Release.Name }}-a'),
        'templates/b.yaml': deployment('"{{ .Release.Name }}"'),
      }),
      'over/values.yaml': 'map: {y: file}\nlist: [file]\n',
      'over/more.yaml': 'a: more\nmap: {z: more}\n',
      'over/kustomization.yaml':
        'helmGlobals: {chartHome: charts}\nnamePrefix: p-\nhelmCharts:\n- name: inner\n  releaseName: r\n  namespace: there\n' +
        `  valuesFile: values.yaml\n  additionalValuesFiles: [more.yaml]\n  ${inline}` +
        'patches:\n- target: {kind: Deployment}\n  patch: "- {op: replace, path: /spec/replicas, value: 5}"\n',
    },
    source: { path: `${name}/over` },
    buildOptions: '--enable-helm',
    atLeast: 2,
  };
});

const leaf = (name: string): SourceFiles => ({
  'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: 0.1.0\n`,
  'values.yaml': `own: ${name}\nexports: {data: {from${name}: exported}}\n`,
  'templates/a.yaml': template(
    { own: '{{ .Values.own }}', global: '{{ .Values.global.site | default "none" }}', chart: '{{ .Chart.Name }}' },
    '{{ .Release.Name }}-{{ .Chart.Name }}',
  ),
});

/** An umbrella chart: aliases, conditions, tags, global values and values of children. */
const umbrella: SourceFiles = {
  ...chart(
    {
      'values.yaml': 'global: {site: eu}\nprimary: {own: first}\ntags: {extra: false}\ndb: {enabled: true}\n',
      'templates/all.yaml': template({ all: '{{ omit .Values "db" "primary" "replica" | toJson | quote }}' }),
      ...within('charts/db', leaf('db')),
      ...within('charts/queue', { ...leaf('queue'), ...within('charts/store', leaf('store')) }),
    },
    'dependencies:\n- {name: db, version: 0.1.0, condition: db.enabled, import-values: [data]}\n' +
      '- {name: db, version: 0.1.0, alias: primary}\n- {name: db, version: 0.1.0, alias: replica, condition: replica.enabled}\n' +
      '- {name: queue, version: ">=0.1.0-0", tags: [extra]}\n',
  ),
};

const umbrellaCases = combinations(['db', 'replica', 'extra']).map((on): CorpusCase => ({
  name: `layout-umbrella-${shown(on)}`,
  files: umbrella,
  source: {
    helm: {
      valuesObject: {
        db: { enabled: on['db'] === true },
        replica: { enabled: on['replica'] === true, own: 'second' },
        tags: { extra: on['extra'] === true },
      },
    },
  },
  atLeast: 2,
}));

/** A library chart with a whole workload, `tpl` over values and files, and `lookup`. */
const library: SourceFiles = chart(
  {
    'values.yaml':
      'greeting: "hello {{ .Release.Name }}"\nenv: {LEVEL: info, HOST: "{{ .Values.host }}"}\nhost: db\nsecret: {name: ""}\n',
    'files/app.conf': 'release = {{ .Release.Name }}\nhost = {{ .Values.host }}\n',
    'files/raw.txt': 'braces {{ stay }}\n',
    'templates/app.yaml': '{{- include "lib.deployment" (dict "root" . "name" "web") }}\n',
    'templates/files.yaml':
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: files}\ndata:\n{{ (.Files.Glob "files/raw.*").AsConfig | indent 2 }}' +
      '\n  app.conf: {{ tpl (.Files.Get "files/app.conf") . | quote }}\n  greeting: {{ tpl .Values.greeting . }}\n',
    'templates/secret.yaml':
      '{{- $old := lookup "v1" "Secret" .Release.Namespace "token" }}\napiVersion: v1\nkind: Secret\nmetadata: {name: token}\n' +
      'data: {token: {{ if $old }}{{ $old.data.token }}{{ else }}{{ printf "new-%s" .Release.Name | b64enc }}{{ end }}}\n' +
      '---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: namespaces}\ndata: {count: "{{ len (lookup "v1" "Namespace" "" "") }}"}\n',
    ...within('charts/lib', {
      'Chart.yaml': 'apiVersion: v2\nname: lib\nversion: 0.1.0\ntype: library\n',
      'templates/_deployment.tpl':
        '{{- define "lib.env" }}{{- range $k, $v := .Values.env }}\n- {name: {{ $k }}, value: {{ tpl $v $ | quote }}}{{- end }}{{- end }}\n' +
        '{{- define "lib.deployment" }}{{- $root := .root }}\napiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ .name }}\n' +
        '  annotations: {sum: {{ include "lib.env" $root | sha256sum }}}\nspec:\n  selector: {matchLabels: {app: {{ .name }}}}\n' +
        '  template:\n    metadata: {labels: {app: {{ .name }}}}\n    spec:\n      containers:\n      - name: {{ .name }}\n' +
        '        image: web:{{ $root.Chart.AppVersion }}\n        env: {{- include "lib.env" $root | nindent 8 }}\n{{- end }}\n',
    }),
  },
  'dependencies:\n- {name: lib, version: 0.1.0}\n',
);

/** As tanka lays it out: environments, own libraries and vendored ones, which `libs` names. */
const tanka: SourceFiles = {
  'environments/prod/main.jsonnet':
    "local web = import 'web/web.libsonnet';\nlocal k = import 'k.libsonnet';\n" +
    "std.objectValues(web.new('web', import 'settings/prod.json') { extra: k.map('extra', importstr 'motd.txt') })\n",
  'lib/settings/prod.json': jsonOf({ replicas: 3, image: 'web:1' }),
  'environments/prod/motd.txt': 'hello\n',
  'lib/web/web.libsonnet':
    "local k = import 'k.libsonnet';\n{ new(name, s):: { app: k.deployment(name, s), env: k.map(name, std.manifestJsonEx(s, ' ')) } }\n",
  'vendor/k.libsonnet':
    "{ map(name, text):: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name }, data: { text: text } },\n" +
    "  deployment(name, s):: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: name, labels: { app: name } },\n" +
    '    spec: { replicas: s.replicas, selector: { matchLabels: { app: name } }, template: { metadata: { labels: { app: name } },\n' +
    '      spec: { containers: [{ name: name, image: s.image }] } } } } }\n',
};

/** A bundle of definitions with long schemas, in one file. */
function bundle(count: number, fields: number): string {
  const properties = Array.from(
    { length: fields },
    (_, i) => `f${i}: {type: string, description: "Field ${i} of a long schema, in the words of its author."}`,
  ).join(', ');
  const schema = `{type: object, properties: {spec: {type: object, properties: {${properties}}}}}`;
  return yaml(
    ...Array.from({ length: count }, (_, i) =>
      crd(`bundle${i}s`, `Bundle${i}`).replace('{openAPIV3Schema: {type: object}}', `{openAPIV3Schema: ${schema}}`),
    ),
  );
}

const many = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, i) => (i % 4 === 0 ? deployment(`d${i}`) : configMap(`c${i}`)));

/** A folder for each team and one for each environment, with files that all share. */
const monorepo = (team: string, environment: string): CorpusCase => {
  const name = `layout-monorepo-${team}-${environment}`;
  const path = `teams/${team}/envs/${environment}`;
  const source: CorpusSource = { path: `${name}/${path}`, kustomize: { images: ['registry.example.com/web:2'] } };
  return {
    name,
    files: {
      'common/labels/kustomization.yaml':
        'apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\ncommonAnnotations: {owner: platform}\n',
      'common/policy/kustomization.yaml': 'resources: [limits.yaml]\n',
      'common/policy/limits.yaml': 'apiVersion: v1\nkind: LimitRange\nmetadata: {name: limits}\nspec: {limits: []}\n',
      [`teams/${team}/base/kustomization.yaml`]: 'resources: [app.yaml, ../../../common/policy]\n',
      [`teams/${team}/base/app.yaml`]: yaml(deployment(team), service(team), configMap('target', { host: 'unset' })),
      [`${path}/kustomization.yaml`]:
        `resources: [../../base]\ncomponents: [../../../../common/labels]\nnamespace: ${team}-${environment}\nnameSuffix: -${environment}\n` +
        `replacements:\n- source: {kind: Service, name: ${team}, fieldPath: metadata.name}\n` +
        '  targets: [{select: {kind: ConfigMap, name: target}, fieldPaths: [data.host]}]\n' +
        'patches:\n- target: {kind: Service}\n  patch: |-\n    apiVersion: v1\n    kind: Service\n    metadata: {name: any}\n' +
        '    spec:\n      ports: [{port: 80, $patch: delete}, {port: 8443, targetPort: 443}]\n',
    },
    source,
    atLeast: 4,
  };
};

export const layoutCases: readonly CorpusCase[] = [
  ...componentCases,
  ...inflatedCases,
  ...umbrellaCases,
  ...['shop', 'pay'].flatMap((team) => ['dev', 'prod'].map((environment) => monorepo(team, environment))),
  { name: 'layout-library', files: library, atLeast: 4 },
  {
    name: 'layout-library-values',
    files: library,
    source: { helm: { values: 'greeting: "{{ .Values.host }}!"\nhost: other\n', releaseName: 'given' } },
    atLeast: 4,
  },
  {
    name: 'layout-tanka',
    files: tanka,
    source: {
      path: 'layout-tanka/environments/prod',
      directory: { jsonnet: { libs: ['layout-tanka/vendor', 'layout-tanka/lib'] } },
    },
    atLeast: 3,
  },
  { name: 'layout-bundle', files: { 'crds.yaml': bundle(60, 800) }, atLeast: 60 },
  {
    name: 'layout-bundle-overlay',
    files: {
      'kustomization.yaml': 'resources: [crds.yaml]\ncommonLabels: {part-of: bundle}\n',
      'crds.yaml': bundle(20, 200),
    },
    atLeast: 20,
  },
  {
    name: 'layout-many-files',
    files: Object.fromEntries(many(800).map((text, i) => [`n${i % 40}/f${i}.yaml`, text])),
    source: { directory: { recurse: true } },
    atLeast: 800,
  },
  {
    name: 'layout-many-documents',
    files: {
      'kustomization.yaml': 'resources: [all.yaml]\nnamespace: many\nlabels: [{pairs: {a: b}}]\n',
      'all.yaml': yaml(...many(800)),
    },
    atLeast: 800,
  },
  {
    name: 'layout-many-of-a-chart',
    files: chart({
      'values.yaml': 'count: 800\n',
      'templates/a.yaml':
        '{{- range $i := until (int .Values.count) }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c{{ $i }}}\ndata: {i: "{{ $i }}"}\n{{- end }}\n',
    }),
    atLeast: 800,
  },
];
