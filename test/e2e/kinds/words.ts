import { at, isObject, own } from '#base';
import type { Json, JsonObject } from '#base';
import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import { isList } from './places.ts';
import type { Steps } from './places.ts';

const prefix = '#/components/schemas/';

/** The words that an API server publishes for fields that take no others. */
export class PublishedWords {
  readonly #schemas = new Map<string, JsonObject>();

  /** @param document OpenAPI v3 of a group version */
  add(document: Json): void {
    const schemas = at(document, 'components', 'schemas');
    for (const [name, schema] of Object.entries(isObject(schemas) ? schemas : {}))
      if (isObject(schema)) this.#schemas.set(name, schema);
  }

  at(object: KubeObject, path: Steps): readonly string[] {
    let here = this.#kind(object);
    for (const step of path) here = this.#below(here, step);
    const words = here === undefined ? undefined : own(here, 'enum');
    return isList(words) ? words.filter((word) => typeof word === 'string') : [];
  }

  #kind({ apiVersion, kind }: KubeObject): JsonObject | undefined {
    const [group, version] = [groupOf(apiVersion), versionOf(apiVersion)];
    return [...this.#schemas.values()].find((schema) => {
      const names = own(schema, 'x-kubernetes-group-version-kind');
      const isThis = (name: Json): boolean =>
        isObject(name) && name['kind'] === kind && name['version'] === version && (name['group'] ?? '') === group;
      return isList(names) && names.some(isThis);
    });
  }

  #below(schema: JsonObject | undefined, step: string | number): JsonObject | undefined {
    if (schema === undefined) return undefined;
    const inner =
      typeof step === 'number'
        ? own(schema, 'items')
        : (at(schema, 'properties', step) ?? own(schema, 'additionalProperties'));
    return isObject(inner) ? this.#resolved(inner) : undefined;
  }

  #resolved(schema: JsonObject): JsonObject | undefined {
    const all = own(schema, 'allOf');
    const only = isList(all) ? all[0] : undefined;
    const ref = own(isObject(only) ? only : schema, '$ref');
    return typeof ref === 'string' ? this.#schemas.get(ref.slice(prefix.length)) : schema;
  }
}
