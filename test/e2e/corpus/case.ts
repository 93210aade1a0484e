import type { Json } from '#base';
import type { ApplicationSource, Repository } from '#model';

/** Path to content; a content of `-> target` is a symbolic link. */
export type Files = Readonly<Record<string, string>>;

/**
 * Where a source lies, before servers have addresses: `git` (the repository that all cases share), `git:NAME` (a repository of the case's own),
 * `https` and `https:NAME` (the same, where a password is asked), `ssh`, `charts` (the Helm repository), `locked-charts`, `registry` (Helm charts of the OCI registry), `oci:NAME` (an artifact there), else a URL as it is.
 */
export type Place = string;

export interface CorpusSource extends Partial<Omit<ApplicationSource, 'repoURL'>> {
  readonly at?: Place;
  /** Of the repository, as its Secret would have it. */
  readonly repository?: Partial<Repository>;
}

/** One Application, and what it is about. */
export interface CorpusCase {
  /** Also the folder of its files in the shared repository, and the `path` of a source that names none. */
  readonly name: string;
  readonly files?: Files;
  /** Repositories of its own, by name. */
  readonly repositories?: Readonly<Record<string, Files>>;
  readonly source?: CorpusSource;
  /** Several: what stands in `spec.sources`. */
  readonly sources?: readonly CorpusSource[];
  readonly appName?: string;
  readonly namespace?: string;
  readonly buildOptions?: string;
  readonly apiVersions?: readonly string[];
  /** Of a broken one: what the conditions of both have in common. */
  readonly says?: RegExp;
  /** How many objects it makes at least: a case that renders nothing proves nothing. Default 1. */
  readonly atLeast?: number;
}

export const yaml = (...documents: readonly string[]): string => documents.join('---\n');

export const configMap = (name: string, data: Readonly<Record<string, string>> = { key: 'value' }): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\ndata:\n${Object.entries(data)
    .map(([key, value]) => `  ${key}: ${value}\n`)
    .join('')}`;

export const service = (name: string): string =>
  `apiVersion: v1\nkind: Service\nmetadata:\n  name: ${name}\nspec:\n  selector: {app: ${name}}\n  ports: [{port: 80, targetPort: 8080}]\n`;

export const deployment = (name: string, image = 'registry.example.com/web:1.0'): string =>
  `apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: ${name}\n  labels: {app: ${name}}\nspec:\n  replicas: 1\n` +
  `  selector:\n    matchLabels: {app: ${name}}\n  template:\n    metadata:\n      labels: {app: ${name}}\n` +
  `    spec:\n      containers:\n        - name: web\n          image: ${image}\n`;

export const crd = (plural: string, kind: string): string =>
  `apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: ${plural}.corpus.example.com\nspec:\n` +
  `  group: corpus.example.com\n  scope: Namespaced\n  names: {plural: ${plural}, singular: ${kind.toLowerCase()}, kind: ${kind}}\n` +
  '  versions:\n    - name: v1\n      served: true\n      storage: true\n      schema: {openAPIV3Schema: {type: object}}\n';

/** A ConfigMap that a chart makes, whose values are templates. */
export const template = (values: Readonly<Record<string, string>>, name = '{{ .Release.Name }}'): string =>
  configMap(`"${name}"`, values);

export const jsonOf = (value: Json): string => `${JSON.stringify(value, null, 2)}\n`;

/** A chart in a folder. */
export const chart = (files: Files, more = '', name = 'web'): Files => ({
  'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: 1.2.3\nappVersion: "4.5"\n${more}`,
  ...files,
});

/** The same files in a sub-folder. */
export const within = (folder: string, files: Files): Files =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]));
