import { defined, formatYaml, goJson, isObject, messageOf, parseJson, parseYamlDocuments, UsageError } from '#base';
import type { Json, JsonObject } from '#base';
import type { Application, ApplicationCondition, SyncStatus } from '#model';

/** The file of `argocd admin app get-reconcile-results`: JSON or YAML. */
export interface ReconcileResults {
  /** Null if there is no Application, as Go writes it. */
  readonly applications: readonly ReconcileResult[] | null;
}

/** One Application of a results file. */
export interface ReconcileResult {
  readonly name: string;
  /** The status code alone; empty if it was never assessed. */
  readonly health: string;
  readonly sync: SyncStatus | { readonly status: '' };
  /** Null if the status has none. */
  readonly conditions: readonly ApplicationCondition[] | null;
}

export const resultFormats = ['yaml', 'json'] as const;
export type ResultFormat = (typeof resultFormats)[number];

/** Results of Applications, by name, each from its status. */
export function resultsOf(applications: readonly Pick<Application, 'metadata' | 'status'>[]): ReconcileResults {
  const results = applications.map(({ metadata, status }): ReconcileResult => ({
    name: metadata.name ?? '',
    health: status?.health?.status ?? '',
    sync: syncOf(status?.sync),
    conditions: status?.conditions?.map(conditionOf) ?? null,
  }));
  results.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { applications: results.length === 0 ? null : results };
}

/** With the members that Go always writes, and without those that it leaves out when empty. */
function syncOf(sync: SyncStatus | undefined): ReconcileResult['sync'] {
  const { status = '', comparedTo, revision = '', revisions = [] } = sync ?? {};
  return {
    status,
    comparedTo: {
      ...comparedTo,
      source: comparedTo?.source ?? { repoURL: '' },
      destination: comparedTo?.destination ?? {},
    },
    ...(revision === '' ? {} : { revision }),
    ...(revisions.length === 0 ? {} : { revisions }),
  };
}

function conditionOf({ type, message, lastTransitionTime }: ApplicationCondition): ApplicationCondition {
  return { type, message, ...defined({ lastTransitionTime }) };
}

/** The text of a results file. Members are sorted, so that files compare line by line. */
export function formatResults(results: ReconcileResults, format: ResultFormat): string {
  return format === 'json' ? goJson(results as unknown as Json) : yamlOf(results as unknown as Json);
}

/** One Application as Argo CD's `diff-reconcile-results` passes it to `diff`; empty without one. */
export function resultText(result: JsonObject | undefined): string {
  return result === undefined ? '' : yamlOf(result);
}

function yamlOf(value: Json): string {
  return formatYaml(parseJson(goJson(value)), 'go');
}

/**
 * Reads the Applications of a results file, by name.
 * @throws UsageError in one line: which Application of which file, and what is wrong
 */
export function parseResults(text: string, path: string): ReadonlyMap<string, JsonObject> {
  const file = documentOf(text.replace(/^\uFEFF/, ''), path);
  const list = isObject(file) ? file['applications'] : undefined;
  if (list === null) return new Map();
  if (!Array.isArray(list))
    throw new UsageError(`${path}: not a file of get-reconcile-results: it has no list "applications"`);
  const results = new Map<string, JsonObject>();
  for (const [index, item] of (list as readonly Json[]).entries()) {
    const result = resultIn(item, `${path}, application ${index + 1}`);
    if (results.has(result.name)) throw new UsageError(`${path}: ${JSON.stringify(result.name)} is there twice`);
    results.set(result.name, result);
  }
  return results;
}

function documentOf(text: string, path: string): Json {
  try {
    if (text.trimStart().startsWith('{')) return parseJson(text);
    const [document, ...more] = parseYamlDocuments(text);
    if (more.length > 0) throw new UsageError('more than one document');
    return document ?? null;
  } catch (error) {
    throw new UsageError(`${path}: not a whole JSON or YAML file: ${messageOf(error)}`, { cause: error });
  }
}

/** The four known members; Go ignores others. */
function resultIn(item: Json, where: string): JsonObject & { readonly name: string } {
  if (!isObject(item)) throw new UsageError(`${where}: not an object`);
  const { name, health = '', sync = null, conditions = null } = item;
  if (typeof name !== 'string' || name === '') throw new UsageError(`${where}: "name" must be a text`);
  if (typeof health !== 'string') throw new UsageError(`${where}: "health" must be a text`);
  if (sync !== null && !isObject(sync)) throw new UsageError(`${where}: "sync" must be an object`);
  if (conditions !== null && !Array.isArray(conditions)) throw new UsageError(`${where}: "conditions" must be a list`);
  return { name, health, sync, conditions };
}
