import { createHash } from 'node:crypto';
import { load } from 'js-yaml';
import { isObject, omit, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';
import { goCalls, goLiterals } from './go-source.ts';

/** Files of one version of the original, by their path in its repository. */
export interface SourceTree {
  readonly paths: readonly string[];
  /** @throws Error if there is no such file */
  read(path: string): string;
}

export const areas = ['flag', 'variable', 'key', 'metric', 'text', 'health', 'field', 'module', 'file'] as const;
export type Area = (typeof areas)[number];

/** What a version says, by area: the name of each fact with its definition. */
export type Facts = Readonly<Record<Area, ReadonlyMap<string, string>>>;

/** Folders whose behaviour the controller follows. */
const followed = [
  'cmd/argocd-application-controller/',
  'common/',
  'controller/',
  'gitops-engine/',
  'pkg/apis/application/v1alpha1/',
  'reposerver/repository/',
  'util/',
];
/** Parts of them that have nothing to do with a controller, or are generated. */
const apart =
  /_test\.go$|\.pb\.go$|zz_generated|\/(mocks?|testing|test)\/|^util\/(cli|dex|localconfig|oidc|session|swagger|webhook)\//;
const flagCall = /Flags\(\)\.\w+\(/g;
const metricCall = /prometheus\.New\w+\(/g;
const crds = ['manifests/crds/application-crd.yaml', 'manifests/crds/appproject-crd.yaml'];
const settingsFile = 'util/settings/settings.go';

/** The facts of one version that users of a controller can see. Reads each followed file once. */
export function factsOf(tree: SourceTree): Facts {
  const facts = Object.fromEntries(areas.map((area) => [area, new Map<string, string>()])) as Record<
    Area,
    Map<string, string>
  >;
  for (const path of tree.paths) {
    if (/^resource_customizations\/.*health\.lua$/.test(path)) facts.health.set(path, digest(tree.read(path)));
    if (crds.includes(path)) addFields(facts.field, tree.read(path));
    if (path === 'go.mod') addModules(facts.module, tree.read(path));
    if (!path.endsWith('.go') || apart.test(path) || !followed.some((folder) => path.startsWith(folder))) continue;
    const source = tree.read(path);
    facts.file.set(path, digest(source));
    addCalls(facts, path, source);
    addLiterals(facts, path, source);
  }
  return facts;
}

function addCalls(facts: Record<Area, Map<string, string>>, path: string, source: string): void {
  if (path.startsWith('cmd/'))
    for (const { args, literals } of goCalls(source, flagCall)) {
      const [name] = literals;
      if (name !== undefined) facts.flag.set(`--${name}`, oneLine(args.slice(args.indexOf(',') + 1)));
    }
  for (const { args, literals } of goCalls(source, metricCall)) {
    const name = literals.find((text) => /^[a-z]+(_[a-z0-9]+)+$/.test(text));
    if (name !== undefined) facts.metric.set(name, oneLine(args));
  }
}

function addLiterals(facts: Record<Area, Map<string, string>>, path: string, source: string): void {
  for (const { text } of goLiterals(source)) {
    if (/^ARGOCD_[A-Z0-9_]+$/.test(text)) facts.variable.set(text, '');
    else if (/^[a-z-]*\.?argoproj\.io\/[\w.-]+$/.test(text)) facts.key.set(text, '');
    else if (path === settingsFile && /^[a-z][A-Za-z0-9]*([.-][A-Za-z0-9]+)+$/.test(text)) facts.key.set(text, '');
    else if (/[A-Za-z]{2,} \S+ /.test(text)) facts.text.set(text, '');
  }
}

/** Each field of a definition with its type and limits. */
function addFields(fields: Map<string, string>, text: string): void {
  const { spec } = load(text) as Definition;
  for (const { schema } of spec.versions) addSchema(fields, spec.names.kind, schema.openAPIV3Schema);
}

interface Definition {
  readonly spec: {
    readonly names: { readonly kind: string };
    readonly versions: readonly { readonly schema: { readonly openAPIV3Schema: JsonObject } }[];
  };
}

function addSchema(fields: Map<string, string>, path: string, schema: Json | undefined): void {
  if (!isObject(schema)) return;
  const { properties, items, additionalProperties } = schema;
  fields.set(path, stringifyJson(omit(schema, 'properties', 'items', 'additionalProperties', 'description')));
  const members = isObject(properties) ? Object.entries(properties) : [];
  for (const [name, member] of members) addSchema(fields, `${path}.${name}`, member);
  addSchema(fields, `${path}[]`, items ?? additionalProperties);
}

/** Modules that are required directly. */
function addModules(modules: Map<string, string>, text: string): void {
  for (const [, path, version] of text.matchAll(/^(?:require)?\s+(\S+\.\S+\/\S+) (v\S+)(?!.*\/\/ indirect)/gm))
    if (path !== undefined && version !== undefined) modules.set(path, version);
}

const oneLine = (text: string): string => text.trim().replaceAll(/\s+/g, ' ');
const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 12);
