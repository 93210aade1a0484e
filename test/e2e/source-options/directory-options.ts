import type { JsonObject } from '#base';
import { optionsOf } from './option.ts';
import type { SourceOption } from './option.ts';

const jsonnet = (section: JsonObject): JsonObject => ({ jsonnet: section });

const patterns: Readonly<Record<string, JsonObject>> = {
  'directory: empty': {},
  recurse: { recurse: true },
  'recurse: off': { recurse: false },
  'include: an extension': { include: '*.yaml', recurse: true },
  'include: alternatives': { include: '{a*,**/c.yaml,env/**}', recurse: true },
  'include: a class': { include: '[!a]*', recurse: true },
  'include: one character': { include: '?.yaml' },
  'include: across folders': { include: '*c*', recurse: true },
  'include: nothing': { include: 'none' },
  'include: a broken pattern': { include: '{a' },
  'exclude: alternatives': { exclude: '{a.yaml,env/*}', recurse: true },
  'exclude: everything': { exclude: '**' },
  'exclude: capitals': { exclude: '*.YAML', recurse: true },
  'exclude: a broken pattern': { exclude: '[a', recurse: true },
  'include and exclude': { include: '*.y*ml', exclude: '*b*', recurse: true },
  disableExtensionFilter: { disableExtensionFilter: true, exclude: '*.md' },
  'disableExtensionFilter: all folders': {
    disableExtensionFilter: true,
    recurse: true,
    include: '*.{yaml,manifest,json}',
  },
};

const arguments_: Readonly<Record<string, JsonObject>> = {
  'jsonnet: empty': jsonnet({}),
  'tlas: a text': jsonnet({ tlas: [{ name: 'env', value: 'prod, "eu"' }] }),
  'tlas: code': jsonnet({ tlas: [{ name: 'count', value: '1 + std.length("ab")', code: true }] }),
  'tlas: a variable': jsonnet({ tlas: [{ name: 'env', value: '$ARGOCD_APP_NAME/${ARGOCD_APP_NAMESPACE}' }] }),
  'tlas: the same twice': jsonnet({
    tlas: [
      { name: 'env', value: 'first' },
      { name: 'env', value: "'second'", code: true },
    ],
  }),
  'tlas: unknown': jsonnet({ tlas: [{ name: 'unknown', value: '1' }] }),
  'tlas: an equals sign': jsonnet({ tlas: [{ name: 'env', value: 'a=b\nc' }] }),
  'extVars: a text': jsonnet({ extVars: [{ name: 'site', value: '--eu' }] }),
  'extVars: code': jsonnet({ extVars: [{ name: 'site', value: '{ a: [1, 2] }', code: true }] }),
  'extVars: broken code': jsonnet({ extVars: [{ name: 'site', value: '{', code: true }] }),
  'extVars: not used': jsonnet({ extVars: [{ name: 'unused', value: '1 +', code: true }] }),
  libs: jsonnet({ libs: ['option-files/libs'] }),
  'libs: from the root': jsonnet({ libs: ['/option-files/libs', 'option-files'] }),
  'libs: an empty name': jsonnet({ libs: [''] }),
  'libs: missing': jsonnet({ libs: ['option-files/gone'] }),
  'libs: outside': jsonnet({ libs: ['../outside'] }),
};

export const directoryOptions: readonly SourceOption[] = [
  ...optionsOf('directory', { ...patterns, ...arguments_ }),
  { name: 'destination', kind: 'directory', request: { appName: 'team_shop', namespace: 'shop' } },
  { name: 'override file', kind: 'directory', request: { appName: 'overridden' } },
];

/** Files in each plain folder, which options name. */
export const directoryFiles: Readonly<Record<string, string>> = {
  '.argocd-source-overridden.yaml': 'directory: {recurse: true, exclude: "*b*"}\n',
};

/** Files at the root of the repository, which options name. */
export const rootFiles: Readonly<Record<string, string>> = {
  'option-files/of-root.yaml': 'added: root\nzone: {root: true}\n',
  'option-files/libs/option.libsonnet':
    "{ map(name, data):: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: name }, data: data } }\n",
};
