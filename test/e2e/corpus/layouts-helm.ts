import { chart, configMap, crd, deployment, jsonOf, service, template, within, yaml } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

// Charts, Jsonnet and plain folders in the style of what people have.

const showAll = template({ all: '{{ .Values | toJson | quote }}' });

/** Values by stage and region, which globs and names choose. */
const staged: SourceFiles = {
  ...within(
    'app',
    chart({
      'values.yaml': 'replicas: 1\nregion: none\nlist: [a, b]\nmap: {keep: 1, drop: 2}\n',
      'templates/all.yaml': showAll,
      'templates/app.yaml': deployment('{{ .Release.Name }}').replace(
        'replicas: 1',
        'replicas: {{ .Values.replicas }}',
      ),
    }),
  ),
  'values/10-common.yaml': 'region: common\nlist: [c]\n',
  'values/20-prod.yaml': 'replicas: 3\nmap: {drop: null, more: 3}\n',
  'values/regions/eu.yaml': 'region: eu\n',
  'values/regions/us.yaml': 'region: us\nlist: []\n',
  'values/regions/deep/zone-a.yaml': 'zone: a\n',
  'values/notes.md': 'not values\n',
};

const stagedCase = (name: string, helm: NonNullable<CorpusCase['source']>['helm']): CorpusCase => ({
  name: `layout-stages-${name}`,
  files: staged,
  source: { path: `layout-stages-${name}/app`, helm: helm ?? {} },
  atLeast: 2,
});

const stagedCases: readonly CorpusCase[] = [
  stagedCase('glob', {
    valueFiles: ['../values/*.yaml', '../values/regions/{eu,us}.yaml'],
    ignoreMissingValueFiles: true,
  }),
  stagedCase('deep', { valueFiles: ['../values/**/*.yaml', '../values/10-common.yaml'] }),
  stagedCase('parameters', {
    valueFiles: ['../values/[12]0-*.yaml', '/layout-stages-parameters/values/regions/eu.yaml'],
    parameters: [
      { name: 'list[1]', value: 'set' },
      { name: 'map.keep', value: '0x10' },
      { name: 'annotations.a\\.example\\.com/b', value: 'true', forceString: true },
    ],
    fileParameters: [{ name: 'notes', path: '../values/notes.md' }],
    values: 'map: {inline: true}\n',
  }),
];

/** A library of named templates on two levels; the chart overrides one of them. */
const nestedLibrary: SourceFiles = {
  ...chart(
    {
      'values.yaml': 'ports: {http: 80, admin: 8081}\nglobal: {team: blue}\nexport: {shared: {x: 1}}\n',
      'templates/_override.tpl': '{{- define "lib.name" }}{{ .Release.Name }}-own{{- end }}\n',
      'templates/all.yaml':
        '{{- include "lib.object" (list . "main") }}\n---\n{{- include "lib.merged" (dict "top" . "over" (dict "data" (dict "over" "yes"))) }}\n',
      'templates/ports.yaml':
        'apiVersion: v1\nkind: Service\nmetadata: {name: {{ include "lib.name" . }}}\nspec:\n  ports:\n  {{- range $name, $port := .Values.ports }}\n  - {name: {{ $name }}, port: {{ $port }}}\n  {{- end }}\n',
    },
    'dependencies:\n- {name: lib, version: "~0.2"}\n',
    'nested',
  ),
  ...within('charts/lib', {
    'Chart.yaml':
      'apiVersion: v2\nname: lib\nversion: 0.2.3\ntype: library\ndependencies:\n- {name: core, version: 0.1.0}\n',
    'templates/_all.tpl':
      '{{- define "lib.name" }}never{{- end }}\n' +
      '{{- define "lib.object" }}{{- $top := index . 0 }}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "lib.name" $top }}-{{ index . 1 }}\n  labels: {{- include "core.labels" $top | nindent 4 }}\ndata: {team: {{ $top.Values.global.team }}}\n{{- end }}\n' +
      '{{- define "lib.base" }}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ include "lib.name" . }}-merged}\ndata: {base: "yes", over: "no"}\n{{- end }}\n' +
      '{{- define "lib.merged" }}{{- $base := fromYaml (include "lib.base" .top) }}\n{{ toYaml (mustMergeOverwrite $base .over) }}\n{{- end }}\n',
    ...within('charts/core', {
      'Chart.yaml': 'apiVersion: v2\nname: core\nversion: 0.1.0\ntype: library\n',
      'templates/_labels.tpl':
        '{{- define "core.labels" -}}\napp.kubernetes.io/name: {{ .Chart.Name }}\nhelm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}\n{{- end }}\n',
    }),
  }),
};

/** The shape of `helm create`: everything is switched by values. */
const created: SourceFiles = chart({
  '.helmignore': '# comment\n*.bak\n/ci/\ntemplates/ignored*.yaml\n',
  'values.yaml':
    'replicaCount: 2\nimage: {repository: registry.example.com/web, tag: ""}\nserviceAccount: {create: true, name: ""}\ningress: {enabled: true, hosts: [{host: a.example.com, paths: [/, /b]}]}\n' +
    'autoscaling: {enabled: false}\nresources: {limits: {cpu: 100m}}\nnodeSelector: {}\ntolerations: [{key: a, operator: Exists}]\npodAnnotations: {sum: "{{ .Release.Name }}"}\n',
  'values.schema.json': jsonOf({
    $defs: { image: { type: 'object', properties: { repository: { type: 'string' } }, required: ['repository'] } },
    type: 'object',
    properties: { replicaCount: { type: 'integer', minimum: 1 }, image: { $ref: '#/$defs/image' } },
  }),
  'templates/_helpers.tpl':
    '{{- define "web.fullname" -}}\n{{- if contains .Chart.Name .Release.Name }}{{ .Release.Name | trunc 63 }}{{ else }}{{ printf "%s-%s" .Release.Name .Chart.Name }}{{ end }}\n{{- end }}\n' +
    '{{- define "web.serviceAccountName" -}}\n{{- ternary (default (include "web.fullname" .) .Values.serviceAccount.name) (default "default" .Values.serviceAccount.name) .Values.serviceAccount.create }}\n{{- end }}\n',
  'templates/deployment.yaml':
    'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: {{ include "web.fullname" . }}\nspec:\n  {{- if not .Values.autoscaling.enabled }}\n  replicas: {{ .Values.replicaCount }}\n  {{- end }}\n' +
    '  selector: {matchLabels: {app: web}}\n  template:\n    metadata:\n      labels: {app: web}\n      {{- with .Values.podAnnotations }}\n      annotations:\n        {{- tpl (toYaml .) $ | nindent 8 }}\n      {{- end }}\n' +
    '    spec:\n      serviceAccountName: {{ include "web.serviceAccountName" . }}\n      containers:\n      - name: web\n        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"\n' +
    '        resources: {{- toYaml .Values.resources | nindent 10 }}\n      {{- with .Values.nodeSelector }}\n      nodeSelector: {{- toYaml . | nindent 8 }}\n      {{- end }}\n      {{- with .Values.tolerations }}\n      tolerations: {{- toYaml . | nindent 8 }}\n      {{- end }}\n',
  'templates/ingress.yaml':
    '{{- if .Values.ingress.enabled -}}\n{{- $name := include "web.fullname" . -}}\napiVersion: {{ if semverCompare ">=1.19-0" .Capabilities.KubeVersion.GitVersion }}networking.k8s.io/v1{{ else }}extensions/v1beta1{{ end }}\nkind: Ingress\nmetadata: {name: {{ $name }}}\nspec:\n  rules:\n' +
    '    {{- range .Values.ingress.hosts }}\n    - host: {{ .host | quote }}\n      http:\n        paths:\n          {{- range .paths }}\n          - {path: {{ . }}, pathType: Prefix, backend: {service: {name: {{ $name }}, port: {number: 80}}}}\n          {{- end }}\n    {{- end }}\n{{- end }}\n',
  'templates/hpa.yaml':
    '{{- if .Values.autoscaling.enabled }}\napiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: web}\n{{- end }}\n',
  'templates/sa.yaml':
    '{{- if .Values.serviceAccount.create }}\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: {{ include "web.serviceAccountName" . }}}\n{{- end }}\n',
  'templates/ignored-a.yaml': 'not: {{ fail "this file is ignored" }}\n',
  'templates/old.yaml.bak': '{{ fail "and this one" }}\n',
  'templates/tests/connection.yaml': configMap('connection').replace(
    'metadata:\n',
    'metadata:\n  annotations: {helm.sh/hook: test-success}\n',
  ),
  'ci/values.yaml': 'replicaCount: 9\n',
});

/** Files of a chart as configuration: globs, lines, encodings, and templates of templates. */
const files: SourceFiles = chart({
  'values.yaml': 'site: eu\ndashboards: "dash/*.json"\nusers: {b: 2, a: 1}\n',
  'dash/one.json': jsonOf({ title: '{{ not a template }}', n: 1 }),
  'dash/two.json': jsonOf({ title: 'two' }),
  'conf/site.conf.tpl':
    'site={{ .Values.site }}\n{{- range $k, $v := .Values.users }}\nuser.{{ $k }}={{ $v }}{{ end }}\n',
  'conf/hosts': 'a 1\nb 2\n\nc 3\n',
  'templates/dash.yaml':
    '{{- range $path, $bytes := .Files.Glob .Values.dashboards }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ base $path | trimSuffix ".json" }}\n  annotations: {sum: "{{ $bytes | toString | sha1sum }}"}\nbinaryData: {file: {{ $.Files.Get $path | b64enc }}}\n{{- end }}\n',
  'templates/conf.yaml':
    'apiVersion: v1\nkind: Secret\nmetadata: {name: conf}\ndata:\n{{ (.Files.Glob "conf/*").AsSecrets | indent 2 }}\nstringData:\n  site.conf: |\n{{ tpl (.Files.Get "conf/site.conf.tpl") . | indent 4 }}\n' +
    '  hosts: {{ range .Files.Lines "conf/hosts" }}{{ if . }}{{ splitList " " . | first }},{{ end }}{{ end }}\n',
  'templates/values.yaml':
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: computed}\ndata:\n  keys: {{ keys .Values.users | sortAlpha | join "," }}\n  semver: {{ (semver "1.2.3-rc.1+b").Prerelease | quote }}\n' +
    '  regex: {{ regexReplaceAll "(a+)(b*)" "aabx" "${2}-${1}" | quote }}\n  date: {{ date "2006-01-02" (toDate "2006-01-02" "2026-03-04") | quote }}\n  round: "{{ round 3.14159 2 }}"\n  int64: "{{ 12345678901 }}"\n  float: "{{ 1e6 }}"\n' +
    '  missing: {{ dig "a" "b" "default" (dict "a" (dict "c" 1)) }}\n  list: {{ list 1 2 3 | reverse | toJson | quote }}\n  derived: {{ derivePassword 1 "long" "password" "user" "example.com" | quote }}\n  adler: "{{ adler32sum "x" }}"\n',
});

/** A parent that maps values of children, and children in folders beside it. */
const beside: SourceFiles = {
  ...within('charts-of-us/api', {
    'Chart.yaml': 'apiVersion: v2\nname: api\nversion: 1.0.0\n',
    'values.yaml': 'name: api\nexports: {defaults: {port: 8080, host: api}}\nsettings: {deep: {level: 1}}\n',
    'templates/a.yaml': template({ all: '{{ omit .Values "global" | toJson | quote }}' }, '{{ .Values.name }}'),
  }),
  ...within('charts-of-us/front', {
    'Chart.yaml':
      'apiVersion: v2\nname: front\nversion: 2.1.0\ndependencies:\n- {name: api, version: 1.x, repository: "file://../api", alias: backend}\n',
    'values.yaml': 'name: front\n',
    'templates/a.yaml': template({ backend: '{{ .Values.backend.name }}' }, '{{ .Values.name }}'),
  }),
  ...within(
    'platform',
    chart(
      {
        'values.yaml':
          'global: {env: prod}\nfront: {name: shop, backend: {name: shop-api}}\nadmin: {name: admin}\ntags: {tools: false}\n',
        'templates/all.yaml': showAll,
      },
      'dependencies:\n- {name: front, version: ">=2.0.0", repository: "file://../charts-of-us/front"}\n' +
        '- {name: front, version: "^2", repository: "file://../charts-of-us/front", alias: admin, tags: [tools]}\n' +
        '- name: api\n  version: 1.0.0\n  repository: file://../charts-of-us/api\n  import-values: [defaults, {child: settings.deep, parent: fromApi}]\n',
      'platform',
    ),
  ),
};

/** Definitions of 5 MB in the folder of a chart that helm installs first. */
const definitions = (count: number): SourceFiles =>
  Object.fromEntries(
    Array.from({ length: count }, (_, i) => {
      const fields = Array.from(
        { length: 1000 },
        (__, f) =>
          `              f${f}: {type: string, description: "The field ${f} of a schema that a generator wrote."}\n`,
      ).join('');
      const schema = `openAPIV3Schema:\n          type: object\n          properties:\n            spec:\n              type: object\n              properties:\n${fields.replaceAll('              f', '                f')}`;
      return [
        `crds/part-${i}.yaml`,
        crd(`generated${i}s`, `Generated${i}`).replace(
          'schema: {openAPIV3Schema: {type: object}}',
          `schema:\n        ${schema}`,
        ),
      ];
    }),
  );

const mapOf = (name: string, data: string): string =>
  `{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: ${name} }, data: ${data} }`;

const jsonnet: readonly CorpusCase[] = [
  {
    name: 'layout-jsonnet-stages',
    files: {
      'stages/prod.jsonnet':
        "local app = import '../app.libsonnet';\nfunction(cluster='none', replicas=1) app { _config+:: { stage: 'prod', cluster: cluster, replicas: replicas, domains+: ['prod.example.com'] } }.list\n",
      'app.libsonnet':
        "local util = import 'util/main.libsonnet';\n{\n  _config:: { stage: 'dev', domains: ['dev.example.com'], replicas: 1, cluster: error 'no cluster' },\n  local c = self._config,\n  objects:: {\n" +
        `    config: ${mapOf("util.name('config', c)", "{ ['domain-' + i]: c.domains[i] for i in std.range(0, std.length(c.domains) - 1) } + { conf: std.manifestIni({ main: { a: 1 }, sections: { s: { b: [1, 2] } } }), yaml: std.manifestYamlDoc(c, quote_keys=false) }")},\n` +
        `    [if c.stage == 'prod' then 'alerts']: ${mapOf("util.name('alerts', c)", "{ sum: std.md5(std.toString(c.replicas)), ext: std.extVar('note') }")},\n    none: null,\n  },\n  list:: [o for o in std.objectValues(self.objects) if o != null],\n}\n`,
      'vendor/util/main.libsonnet':
        "{ name(base, c):: std.join('-', [base, c.stage, c.cluster]), assert std.length('x') == 1 : 'never' }\n",
    },
    source: {
      path: 'layout-jsonnet-stages/stages',
      directory: {
        jsonnet: {
          libs: ['layout-jsonnet-stages/vendor'],
          tlas: [
            { name: 'cluster', value: 'eu-1' },
            { name: 'replicas', value: '2 * 2', code: true },
          ],
          extVars: [{ name: 'note', value: '${ARGOCD_APP_NAME}' }],
        },
      },
    },
    atLeast: 2,
  },
  {
    name: 'layout-jsonnet-mixed',
    files: {
      'apps/a/main.jsonnet': `[${mapOf("'a'", "{ n: '1' }")}, { apiVersion: 'v1', kind: 'List', items: [${mapOf("'b'", '{}')}] }]\n`,
      'apps/b/plain.yaml': yaml(service('plain'), configMap('plain')),
      'apps/b/data.json': jsonOf({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'json' } }),
      'apps/c/values.yaml': 'not: a manifest\n',
      'apps/c/skip.yaml': `# +argocd:skip-file-rendering\n${configMap('skipped')}`,
      'lib/x.libsonnet': '{}\n',
    },
    source: { directory: { recurse: true, exclude: 'lib/*' } },
    atLeast: 5,
  },
];

const child = (name: string, wave: number, spec: string): string =>
  `apiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: ${name}\n  annotations: {argocd.argoproj.io/sync-wave: "${wave}"}\n  finalizers: [resources-finalizer.argocd.argoproj.io]\nspec:\n  project: default\n  destination: {name: in-cluster, namespace: ${name}}\n${spec}`;

/** An Application of Applications, as a chart and as a folder. */
const appsOfApps: readonly CorpusCase[] = [
  {
    name: 'layout-apps-folder',
    files: {
      'projects/team.yaml':
        'apiVersion: argoproj.io/v1alpha1\nkind: AppProject\nmetadata: {name: team}\nspec: {sourceRepos: ["*"], destinations: [{server: "*", namespace: "team-*"}]}\n',
      'apps/one.yaml': child(
        'one',
        -1,
        '  source: {repoURL: "https://git.example.com/one.git", path: deploy, targetRevision: HEAD}\n',
      ),
      'apps/two.yaml': child(
        'two',
        2,
        '  sources:\n  - {repoURL: "https://charts.example.com", chart: web, targetRevision: 1.*, helm: {valueFiles: [$v/a.yaml]}}\n  - {repoURL: "https://git.example.com/v.git", ref: v}\n',
      ),
      'hooks/before.yaml':
        'apiVersion: batch/v1\nkind: Job\nmetadata:\n  generateName: before-\n  annotations: {argocd.argoproj.io/hook: PreSync, argocd.argoproj.io/hook-delete-policy: HookSucceeded}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}\n',
      'drafts/three.yaml': child('three', 0, '  source: {}\n'),
    },
    source: { directory: { recurse: true, include: '{projects/*,apps/*,hooks/*}', exclude: 'drafts/**' } },
    atLeast: 4,
  },
  {
    name: 'layout-apps-chart',
    files: chart({
      'values.yaml': 'apps:\n  one: {wave: 1}\n  two: {wave: 2, values: {a: {b: [1, "x"]}}}\n  off: {enabled: false}\n',
      'templates/apps.yaml':
        '{{- range $name, $app := .Values.apps }}\n{{- if ne (toString (dig "enabled" true $app)) "false" }}\n---\napiVersion: argoproj.io/v1alpha1\nkind: Application\nmetadata:\n  name: {{ $name }}\n  annotations: {argocd.argoproj.io/sync-wave: {{ $app.wave | quote }}}\n' +
        'spec:\n  project: {{ $.Release.Name }}\n  source:\n    path: apps/{{ $name }}\n    helm:\n      valuesObject: {{- toYaml ($app.values | default dict) | nindent 8 }}\n      values: |\n        {{- toYaml $app | nindent 8 }}\n{{- end }}\n{{- end }}\n',
    }),
    atLeast: 2,
  },
];

/** A chart from one repository, values of two others, and a folder beside them. */
const several: CorpusCase = {
  name: 'layout-several',
  files: {
    ...within('chart', chart({ 'values.yaml': 'a: chart\n', 'templates/all.yaml': showAll })),
    ...within('extra', { 'cm.yaml': configMap('extra') }),
  },
  repositories: {
    org: { 'base.yaml': 'a: org\norg: {x: 1, y: 1}\n', 'teams/shop/values.yaml': 'org: {y: 2}\n' },
    secrets: { 'shop.yaml': 'secret: reference\n', 'ca.pem': 'certificate\n' },
  },
  sources: [
    { at: 'git:org', ref: 'org' },
    { at: 'git:secrets', ref: 'secrets' },
    {
      path: 'layout-several/chart',
      helm: {
        valueFiles: [
          '$org/base.yaml',
          '$org/teams/*/values.yaml',
          '$secrets/shop.yaml',
          'values.yaml',
          '$org/gone.yaml',
        ],
        ignoreMissingValueFiles: true,
        fileParameters: [{ name: 'ca', path: '$secrets/ca.pem' }],
        releaseName: 'shop',
      },
    },
    { path: 'layout-several/extra', directory: { recurse: true } },
  ],
  atLeast: 2,
};

export const helmLayouts: readonly CorpusCase[] = [
  ...stagedCases,
  { name: 'layout-nested-library', files: nestedLibrary, atLeast: 3 },
  { name: 'layout-created', files: created, atLeast: 4 },
  {
    name: 'layout-created-switched',
    files: created,
    source: {
      helm: {
        releaseName: 'my-web',
        skipTests: true,
        valuesObject: {
          autoscaling: { enabled: true },
          ingress: { enabled: false },
          serviceAccount: { create: false },
          tolerations: null,
        },
      },
    },
    atLeast: 2,
  },
  { name: 'layout-chart-files', files, atLeast: 4 },
  { name: 'layout-charts-beside', files: beside, source: { path: 'layout-charts-beside/platform' }, atLeast: 3 },
  { name: 'layout-definitions', files: chart({ ...definitions(60), 'templates/all.yaml': showAll }), atLeast: 61 },
  ...jsonnet,
  ...appsOfApps,
  several,
];
