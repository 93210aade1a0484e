import { chart, configMap, crd, deployment, jsonOf, template, within } from './case.ts';
import type { CorpusCase, SourceFiles } from './case.ts';

const colours: SourceFiles = chart({
  'values.yaml': 'colour: grey\nsize: 1\nnested: {a: 1, b: two}\n',
  'templates/cm.yaml': template({
    colour: '{{ .Values.colour | quote }}',
    size: '{{ .Values.size | toString | quote }}',
    nested: '{{ toJson .Values.nested | quote }}',
  }),
  'env/prod.yaml': 'colour: red\nnested: {b: prod}\n',
  'env/eu.yaml': 'size: 2\n',
  'env/deep/more.yaml': 'nested: {c: deep}\n',
});

const release = chart({
  'templates/cm.yaml': template({
    name: '{{ .Release.Name }}',
    namespace: '{{ .Release.Namespace }}',
    service: '{{ .Release.Service }}',
    revision: '{{ .Release.Revision | quote }}',
    install: '{{ .Release.IsInstall | quote }}',
    chart: '"{{ .Chart.Name }}-{{ .Chart.Version }}-{{ .Chart.AppVersion }}"',
    path: '{{ .Template.Name }}',
  }),
});

const kubernetes = chart({
  'templates/cm.yaml': template({
    version: '{{ .Capabilities.KubeVersion.Version }}',
    minor: '{{ .Capabilities.KubeVersion.Minor | quote }}',
    monitors: '{{ .Capabilities.APIVersions.Has "monitoring.coreos.com/v1/ServiceMonitor" | quote }}',
    routes: '{{ .Capabilities.APIVersions.Has "route.openshift.io/v1" | quote }}',
  }),
});

const withHooks: SourceFiles = chart({
  'crds/things.yaml': crd('things', 'Thing'),
  'templates/cm.yaml': template({ a: 'b' }),
  'templates/hook.yaml': configMap('before').replace(
    'metadata:\n',
    'metadata:\n  annotations:\n    helm.sh/hook: pre-install,pre-upgrade\n    helm.sh/hook-weight: "-5"\n    helm.sh/hook-delete-policy: before-hook-creation\n',
  ),
  'templates/tests/check.yaml': configMap('check').replace(
    'metadata:\n',
    'metadata:\n  annotations: {helm.sh/hook: test}\n',
  ),
});

const library = (name: string, value: string): SourceFiles => ({
  'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: 0.1.0\n`,
  'values.yaml': `value: ${value}\n`,
  'templates/cm.yaml': template({ value: '{{ .Values.value }}' }, `{{ .Release.Name }}-${name}`),
});

/** Charts in Git. */
export const helmCases: readonly CorpusCase[] = [
  { name: 'helm-plain', files: colours },
  { name: 'helm-empty-options', files: colours, source: { helm: {} } },
  { name: 'helm-values-files', files: colours, source: { helm: { valueFiles: ['env/prod.yaml', 'env/eu.yaml'] } } },
  {
    name: 'helm-values-files-of-root',
    files: colours,
    source: { helm: { valueFiles: ['/helm-plain/env/prod.yaml'] } },
  },
  { name: 'helm-values-glob', files: colours, source: { helm: { valueFiles: ['env/*.yaml'] } } },
  {
    name: 'helm-values-deep-glob',
    files: colours,
    source: { helm: { valueFiles: ['env/**/*.yaml', 'env/prod.yaml'] } },
  },
  {
    name: 'helm-values-missing',
    files: colours,
    source: {
      helm: { ignoreMissingValueFiles: true, valueFiles: ['none.yaml', 'env/none-*.yaml', 'env/prod.yaml'] },
    },
  },
  {
    name: 'helm-values-names',
    appName: 'prod',
    files: colours,
    source: { helm: { valueFiles: ['env/${ARGOCD_APP_NAME}.yaml'] } },
  },
  {
    name: 'helm-values-text',
    files: colours,
    source: { helm: { valueFiles: ['env/prod.yaml'], values: 'colour: text\nsize: $ARGOCD_APP_NAME\n' } },
  },
  {
    name: 'helm-values-object',
    files: colours,
    source: {
      helm: {
        values: 'colour: text\n',
        valuesObject: { colour: 'object', nested: { a: null, list: [1, 'x', true, 1.5] } },
      },
    },
  },
  {
    name: 'helm-parameters',
    files: colours,
    source: {
      helm: {
        valueFiles: ['env/prod.yaml'],
        parameters: [
          { name: 'colour', value: 'one,two' },
          { name: 'size', value: '007', forceString: true },
          { name: 'nested.list', value: '{a,b}' },
          { name: 'nested.a', value: '$ARGOCD_APP_NAME in ${ARGOCD_APP_NAMESPACE}' },
          { name: 'nested.b', value: 'first' },
          { name: 'nested.b', value: 'true' },
          { name: 'nested.c\\.d', value: '1' },
        ],
      },
    },
  },
  {
    name: 'helm-parameters-numbers',
    files: colours,
    source: {
      helm: {
        parameters: [
          { name: 'size', value: '1e3' },
          { name: 'nested.a', value: 'null' },
          { name: 'nested.list[1]', value: '12345678901' },
          { name: 'colour', value: 'false', forceString: true },
        ],
      },
    },
  },
  {
    name: 'helm-file-parameters',
    files: { ...colours, 'files/text.txt': 'first line\nsecond, with a comma\n' },
    source: { helm: { fileParameters: [{ name: 'colour', path: 'files/text.txt' }] } },
  },
  {
    name: 'helm-cluster',
    files: kubernetes,
    apiVersions: ['monitoring.coreos.com/v1', 'monitoring.coreos.com/v1/ServiceMonitor', 'v1'],
  },
  {
    name: 'helm-versions',
    files: kubernetes,
    source: { helm: { kubeVersion: 'v1.28.3', apiVersions: ['route.openshift.io/v1', 'v1'] } },
  },
  { name: 'helm-release', files: release },
  { name: 'helm-release-name', files: release, source: { helm: { releaseName: 'given', namespace: 'elsewhere' } } },
  { name: 'helm-application-elsewhere', appName: 'team_shop', files: release },
  { name: 'helm-version', files: release, source: { helm: { version: 'v3' } } },
  { name: 'helm-hooks', files: withHooks, atLeast: 4 },
  { name: 'helm-skip-crds', files: withHooks, source: { helm: { skipCrds: true } }, atLeast: 3 },
  { name: 'helm-skip-tests', files: withHooks, source: { helm: { skipTests: true } }, atLeast: 3 },
  {
    name: 'helm-skip-schema',
    files: { ...colours, 'values.schema.json': jsonOf({ type: 'object', required: ['wanted'] }) },
    source: { helm: { skipSchemaValidation: true } },
  },
  {
    name: 'helm-functions',
    files: chart({
      'values.yaml': 'host: "{{ .Release.Name }}.example.com"\nitems: [a, b]\n',
      'files/one.txt': 'content one\n',
      'templates/_helpers.tpl':
        '{{- define "web.labels" -}}\napp: {{ .Chart.Name }}\nrelease: {{ .Release.Name }}\n{{- end -}}\n',
      'templates/NOTES.txt': 'Thank you for {{ .Chart.Name }}\n',
      'templates/cm.yaml':
        'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fun\n  labels: {{- include "web.labels" . | nindent 4 }}\ndata:\n' +
        '  host: {{ tpl .Values.host . }}\n  file: {{ .Files.Get "files/one.txt" | quote }}\n' +
        '  sum: {{ .Files.Get "files/one.txt" | sha256sum }}\n  found: {{ lookup "v1" "Secret" "a" "b" | toJson | quote }}\n' +
        '{{- range $i, $x := .Values.items }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: item-{{ $i }}-{{ $x }}}\n{{- end }}\n',
      'templates/empty.yaml': '{{- if .Values.never }}\nkind: Never\n{{- end }}\n---\n# nothing here\n',
    }),
    atLeast: 3,
  },
  {
    name: 'helm-list',
    files: chart({
      'templates/list.yaml':
        'apiVersion: v1\nkind: List\nitems:\n{{- range until 3 }}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: "item-{{ . }}"}}\n{{- end }}\n',
    }),
    atLeast: 3,
  },
  {
    name: 'helm-override',
    files: { ...colours, '.argocd-source.yaml': 'helm: {parameters: [{name: colour, value: overridden}]}\n' },
    source: { helm: { parameters: [{ name: 'colour', value: 'spec' }], valueFiles: ['env/eu.yaml'] } },
  },
  {
    // null in an override file deletes nothing outside valuesObject.
    name: 'helm-override-null',
    files: {
      ...colours,
      '.argocd-source.yaml':
        'helm: {releaseName: null, values: null, parameters: null, valuesObject: {nested: {a: null, z: 1}}}\n',
    },
    source: {
      helm: {
        releaseName: 'kept',
        values: 'colour: kept\n',
        parameters: [{ name: 'size', value: '3' }],
        valuesObject: { nested: { a: 'gone', b: 'stays' } },
      },
    },
  },
  {
    // Keys in override files are case-insensitive.
    name: 'helm-override-letters',
    files: {
      ...colours,
      '.argocd-source-app.yaml':
        'helm: {parameters: [{name: size, value: "007", forcestring: true}], ValueFiles: [env/prod.yaml]}\n',
    },
  },
  {
    // Members of a list are merged with those of the spec at the same index.
    name: 'helm-override-members',
    files: { ...colours, '.argocd-source.yaml': 'helm: {parameters: [{name: size, value: "1e3"}]}\n' },
    source: {
      helm: {
        parameters: [
          { name: 'colour', value: '1', forceString: true },
          { name: 'nested.b', value: 'gone' },
        ],
      },
    },
  },
  {
    name: 'helm-dependency-inside',
    files: {
      ...chart(
        {
          'templates/d.yaml': deployment('main'),
          'values.yaml': 'lib: {value: parent}\nglobal: {x: 1}\noff: {enabled: false}\n',
        },
        'dependencies:\n- {name: lib, version: 0.1.0}\n- {name: lib, version: 0.1.0, alias: second}\n- {name: other, version: 0.1.0, condition: off.enabled}\n',
      ),
      ...within('charts/lib', library('lib', 'own')),
      ...within('charts/other', library('other', 'own')),
    },
    atLeast: 3,
  },
  {
    name: 'helm-dependency-file',
    files: {
      ...within(
        'app',
        chart(
          { 'templates/d.yaml': deployment('main') },
          'dependencies:\n- {name: lib, version: 0.1.0, repository: "file://../lib"}\n',
        ),
      ),
      ...within('lib', library('lib', 'beside')),
    },
    source: { path: 'helm-dependency-file/app' },
    atLeast: 2,
  },
  {
    name: 'helm-library-chart',
    files: {
      ...chart(
        { 'templates/d.yaml': '{{ include "shared.map" (dict "name" .Release.Name) }}\n' },
        'dependencies:\n- {name: shared, version: 0.1.0}\n',
      ),
      'charts/shared/Chart.yaml': 'apiVersion: v2\nname: shared\nversion: 0.1.0\ntype: library\n',
      'charts/shared/templates/_map.tpl':
        '{{- define "shared.map" -}}\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .name }}"}\n{{- end -}}\n',
    },
  },
  {
    name: 'helm-old-chart',
    files: {
      'Chart.yaml': 'apiVersion: v1\nname: old\nversion: 0.0.1\n',
      'requirements.yaml': 'dependencies:\n- {name: lib, version: 0.1.0, tags: [extra]}\n',
      'values.yaml': 'tags: {extra: true}\n',
      'templates/cm.yaml': template({ old: 'chart' }),
      ...within('charts/lib', library('lib', 'own')),
    },
    atLeast: 2,
  },
];
