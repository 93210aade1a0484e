import { isObject } from '#base';
import type { Json, JsonObject } from '#base';
import type { CorpusCase, CorpusSource } from '../corpus/index.ts';

/** The kinds of sources that have options. */
export type SourceKind = 'kustomize' | 'helm' | 'directory';

/** One option of an Application's source, with one value of it. */
export interface SourceOption {
  /** The option, and what is special about its value: `parameters: a comma`. */
  readonly name: string;
  /** The kind of source that it is for. */
  readonly kind: SourceKind;
  /** Refused in nearly every layout: tried alone, where it hides no other option. */
  readonly isError?: boolean;
  readonly source?: Partial<CorpusSource>;
  /** Settings outside of the source: of the Application or of argocd-cm. */
  readonly request?: Partial<Pick<CorpusCase, 'appName' | 'namespace' | 'buildOptions' | 'apiVersions'>>;
}

/**
 * Makes the options of one kind from a table: the name, and the members of that kind's section. The
 * names of errors begin with an exclamation mark.
 */
export function optionsOf(kind: SourceKind, table: Readonly<Record<string, JsonObject>>): SourceOption[] {
  return Object.entries(table).map(([name, section]) => ({
    name: name.replace(/^! /, ''),
    kind,
    isError: name.startsWith('! '),
    source: { [kind]: section },
  }));
}

/** The options `a`, then `b`: merges maps and joins lists; of other values the last one wins. */
export function mergeJson(a: Json | undefined, b: Json): Json {
  if (Array.isArray(a) && Array.isArray(b)) return [...(a as readonly Json[]), ...(b as readonly Json[])];
  if (!isObject(a) || !isObject(b)) return b;
  const merged: Record<string, Json | undefined> = { ...a };
  for (const [key, value] of Object.entries(b)) if (value !== undefined) merged[key] = mergeJson(merged[key], value);
  return merged;
}
