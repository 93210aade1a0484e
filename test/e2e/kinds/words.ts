import { valueAt, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { groupOf, versionOf } from '#model';
import type { KubeObject } from '#model';
import { isList } from './places.ts';
import type { ValuePath } from './places.ts';

const prefix = '#/components/schemas/';

/** The enum values in the OpenAPI of an API server. */
export class PublishedWords {
  readonly #schemas = new Map<string, JsonObject>();

  /** @param document OpenAPI v3 of a group version */
  add(document: Json): void {
    const schemas = valueAt(document, 'components', 'schemas');
    for (const [name, schema] of Object.entries(isObject(schemas) ? schemas : {}))
      if (isObject(schema)) this.#schemas.set(name, schema);
  }

  at(object: KubeObject, path: ValuePath): readonly string[] {
    let here = this.#kind(object);
    for (const step of path) here = this.#below(here, step);
    const words = here === undefined ? undefined : ownMember(here, 'enum');
    return isList(words) ? words.filter((word) => typeof word === 'string') : [];
  }

  #kind({ apiVersion, kind }: KubeObject): JsonObject | undefined {
    const [group, version] = [groupOf(apiVersion), versionOf(apiVersion)];
    return [...this.#schemas.values()].find((schema) => {
      const names = ownMember(schema, 'x-kubernetes-group-version-kind');
      const isThis = (name: Json): boolean =>
        isObject(name) && name['kind'] === kind && name['version'] === version && (name['group'] ?? '') === group;
      return isList(names) && names.some(isThis);
    });
  }

  #below(schema: JsonObject | undefined, step: string | number): JsonObject | undefined {
    if (schema === undefined) return undefined;
    const inner =
      typeof step === 'number'
        ? ownMember(schema, 'items')
        : (valueAt(schema, 'properties', step) ?? ownMember(schema, 'additionalProperties'));
    return isObject(inner) ? this.#resolved(inner) : undefined;
  }

  #resolved(schema: JsonObject): JsonObject | undefined {
    const all = ownMember(schema, 'allOf');
    const only = isList(all) ? all[0] : undefined;
    const ref = ownMember(isObject(only) ? only : schema, '$ref');
    return typeof ref === 'string' ? this.#schemas.get(ref.slice(prefix.length)) : schema;
  }
}
