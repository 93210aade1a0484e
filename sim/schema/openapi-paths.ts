import type { MutableJson, MutableJsonObject } from '#base';
import type { KindDefinition } from '../types.ts';

/** The interface to the writer of definitions. */
export interface DefinitionWriter {
  readonly dialect: { readonly version: 2 | 3 };
  ref(fullName: string): MutableJsonObject;
  kind(kind: KindDefinition): { readonly object: string; readonly list: string };
}

const metaPackage = 'io.k8s.apimachinery.pkg.apis.meta.v1';

/**
 * Query parameters by verb; kubectl checks that PATCH has `dryRun` and `fieldValidation` before
 * using them.
 */
const writeQueries: Readonly<Record<string, string>> = {
  pretty: 'Pretty-prints the response if true.',
  dryRun: 'All: a dry run, nothing is stored.',
  fieldManager: 'The field manager of this change.',
  fieldValidation: 'How to handle unknown and duplicate fields: Ignore, Warn or Strict.',
};
const queryDescriptions: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  get: { pretty: 'Pretty-prints the response if true.' },
  list: {
    allowWatchBookmarks: 'Whether the watch may send bookmarks.',
    continue: 'The token of the next page.',
    fieldSelector: 'Selects by field.',
    labelSelector: 'Selects by label.',
    limit: 'The maximum number of items in a page.',
    resourceVersion: 'The required version of the response.',
    resourceVersionMatch: 'How to interpret resourceVersion.',
    sendInitialEvents: 'Whether a watch starts with the current objects.',
    timeoutSeconds: 'The timeout of the watch or list.',
    watch: 'Watches instead of listing.',
  },
  post: writeQueries,
  put: writeQueries,
  patch: { ...writeQueries, force: 'Whether server-side apply takes over conflicting fields.' },
  delete: {
    dryRun: 'All: a dry run, nothing is deleted.',
    gracePeriodSeconds: 'The grace period in seconds.',
    propagationPolicy: 'How to handle dependents: Orphan, Background or Foreground.',
  },
};

/** The paths of the given kinds with their operations. */
export function pathsOf(kinds: readonly KindDefinition[], definitions: DefinitionWriter): MutableJsonObject {
  const result: MutableJsonObject = {};
  for (const kind of kinds) Object.assign(result, new KindPaths(kind, definitions).paths());
  return result;
}

class KindPaths {
  readonly #kind: KindDefinition;
  readonly #definitions: DefinitionWriter;

  constructor(kind: KindDefinition, definitions: DefinitionWriter) {
    this.#kind = kind;
    this.#definitions = definitions;
  }

  paths(): MutableJsonObject {
    const { group, version, namespaced, resource } = this.#kind;
    const root = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
    const all = `${root}/${resource}`;
    const list = namespaced ? `${root}/namespaces/{namespace}/${resource}` : all;
    const names = this.#definitions.kind(this.#kind);
    const collection = this.#operations(['list', 'post', 'deletecollection'], names);
    const one = this.#operations(['get', 'put', 'patch', 'delete'], names);
    const result: MutableJsonObject = {
      [list]: { ...collection, parameters: this.#pathParameters(false) },
      [`${list}/{name}`]: { ...one, parameters: this.#pathParameters(true) },
    };
    if (namespaced) result[all] = this.#operations(['list'], names);
    const parts = this.#operations(['get', 'put', 'patch'], names);
    if (this.#kind.statusSubresource)
      result[`${list}/{name}/status`] = { ...parts, parameters: this.#pathParameters(true) };
    return result;
  }

  #operations(verbs: readonly string[], names: { readonly object: string; readonly list: string }): MutableJsonObject {
    const result: MutableJsonObject = {};
    for (const verb of verbs) {
      if (!this.#kind.verbs.includes(apiVerbs[verb] ?? verb)) continue;
      result[httpMethods[verb] ?? verb] = this.#operation(verb, names);
    }
    return result;
  }

  #operation(verb: string, names: { readonly object: string; readonly list: string }): MutableJsonObject {
    const { group, kind, version } = this.#kind;
    const answer = verb === 'list' ? names.list : verb.startsWith('delete') ? `${metaPackage}.Status` : names.object;
    const parameters = this.#queries(verb);
    const body = this.#body(verb, names.object, parameters);
    return {
      description: `${verb} ${kind}`,
      operationId: `${verb}${kind}`,
      parameters,
      ...body,
      responses: { '200': this.#response(this.#definitions.ref(answer)) },
      'x-kubernetes-action': verb,
      'x-kubernetes-group-version-kind': { group, kind, version },
    };
  }

  /** The body: a member of the operation in v3, a parameter in v2. */
  #body(verb: string, object: string, parameters: MutableJson[]): MutableJsonObject {
    const type =
      verb === 'patch' ? `${metaPackage}.Patch` : verb.startsWith('delete') ? `${metaPackage}.DeleteOptions` : object;
    if (verb === 'get' || verb === 'list') return {};
    const schema = this.#definitions.ref(type);
    const media = verb === 'patch' ? patchTypes(this.#kind) : ['application/json', 'application/yaml'];
    if (this.#definitions.dialect.version === 2) {
      parameters.push({ name: 'body', in: 'body', required: verb !== 'delete', schema });
      return { consumes: media, produces: ['application/json'] };
    }
    const content: MutableJsonObject = {};
    for (const type of media) content[type] = { schema: { ...schema } };
    return { requestBody: { content, required: !verb.startsWith('delete') } };
  }

  #queries(verb: string): MutableJson[] {
    const key = verb === 'deletecollection' ? 'delete' : verb;
    return Object.entries(queryDescriptions[key] ?? {}).map(([name, description]) => ({
      name,
      in: 'query',
      description,
      ...this.#typed('string'),
    }));
  }

  #pathParameters(name: boolean): MutableJson[] {
    const one = (parameter: string, description: string): MutableJson => ({
      name: parameter,
      in: 'path',
      required: true,
      description,
      ...this.#typed('string'),
    });
    return [
      ...(name ? [one('name', `Name of the ${this.#kind.kind}.`)] : []),
      ...(this.#kind.namespaced ? [one('namespace', 'Namespace of the object.')] : []),
    ];
  }

  #typed(type: string): MutableJsonObject {
    return this.#definitions.dialect.version === 2
      ? { type, uniqueItems: true }
      : { schema: { type, uniqueItems: true } };
  }

  #response(schema: MutableJsonObject): MutableJsonObject {
    if (this.#definitions.dialect.version === 2) return { description: 'OK', schema };
    return { description: 'OK', content: { 'application/json': { schema } } };
  }
}

const httpMethods: Readonly<Record<string, string>> = { list: 'get', deletecollection: 'delete' };
const apiVerbs: Readonly<Record<string, string>> = { post: 'create', put: 'update' };

/** Custom resources have no strategic merge patch: it relies on Go types. */
function patchTypes(kind: KindDefinition): string[] {
  return [
    'application/json-patch+json',
    'application/merge-patch+json',
    ...(kind.custom ? [] : ['application/strategic-merge-patch+json']),
    'application/apply-patch+yaml',
  ];
}
