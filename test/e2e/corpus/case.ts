import type { Json } from '#base';
import type { ApplicationSource, Repository } from '#model';

/** Contents by path. The content `-> target` makes a symbolic link. */
export type SourceFiles = Readonly<Record<string, string>>;

/**
 * Symbolic location of a source, replaced by a URL once the servers run: `git` (the repository of
 * all cases), `git:NAME` (a repository of the case), `https` and `https:NAME` (the same with a
 * password), `ssh`, `charts` (the Helm repository), `locked-charts`, `registry` (Helm charts in the
 * OCI registry), `oci:NAME` (an artifact there), otherwise a URL.
 */
export type SourcePlace = string;

export interface CorpusSource extends Partial<Omit<ApplicationSource, 'repoURL'>> {
  readonly at?: SourcePlace;
  /** Settings of the repository's Secret. */
  readonly repository?: Partial<Repository>;
}

/** An Application with the files of its sources. */
export interface CorpusCase {
  /**
   * Name of the case, of its folder in the shared repository, and default `path` of its sources.
   */
  readonly name: string;
  readonly files?: SourceFiles;
  /** Repositories of this case, by name. */
  readonly repositories?: Readonly<Record<string, SourceFiles>>;
  readonly source?: CorpusSource;
  /** `spec.sources`. */
  readonly sources?: readonly CorpusSource[];
  readonly appName?: string;
  readonly namespace?: string;
  readonly buildOptions?: string;
  readonly apiVersions?: readonly string[];
  /** Pattern that both conditions of a broken case match. */
  readonly says?: RegExp;
  /** Minimum number of rendered objects, 1 by default: an empty result would prove nothing. */
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

/** The template of a ConfigMap whose values are templates. */
export const template = (values: Readonly<Record<string, string>>, name = '{{ .Release.Name }}'): string =>
  configMap(`"${name}"`, values);

export const jsonOf = (value: Json): string => `${JSON.stringify(value, null, 2)}\n`;

/** The files of a chart. */
export const chart = (files: SourceFiles, more = '', name = 'web'): SourceFiles => ({
  'Chart.yaml': `apiVersion: v2\nname: ${name}\nversion: 1.2.3\nappVersion: "4.5"\n${more}`,
  ...files,
});

/** Moves files into a subfolder. */
export const within = (folder: string, files: SourceFiles): SourceFiles =>
  Object.fromEntries(Object.entries(files).map(([path, content]) => [`${folder}/${path}`, content]));
