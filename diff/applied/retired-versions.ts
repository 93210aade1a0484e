import { ownMember } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { unionOf } from '../field-ownership/field-owners.ts';
import { fieldsAtVersion } from '../field-ownership/other-version.ts';
import { asJson, textOf } from '../shared/values.ts';
import { entriesOf, fieldsIn, fieldsV1Of } from './entries.ts';

/** The API versions of managed fields that the API server does not serve. */
export function retiredVersions(live: KubeObject, isServed: (apiVersion: string) => boolean): readonly string[] {
  const versions = new Set(entriesOf(live).map(versionIn));
  return [...versions].filter((version) => version !== '' && version !== live.apiVersion && !isServed(version));
}

/** Whether the managed fields contain entries of other API versions than that of the object. */
export function hasOtherVersions(live: KubeObject): boolean {
  return retiredVersions(live, () => false).length > 0;
}

/**
 * Moves entries of retired versions to the version of the object. The API server forgets those of
 * built-in kinds at the next apply, and refuses every apply of a custom resource that has one.
 */
export function withoutRetired(
  entries: readonly JsonObject[],
  retired: readonly string[],
  live: KubeObject,
): readonly JsonObject[] {
  const owners = new Map<string, JsonObject>();
  for (const entry of entries) {
    const moved = retired.includes(versionIn(entry)) ? entryAtVersion(entry, live) : entry;
    const owner = ['manager', 'operation', 'subresource', 'apiVersion'].map((key) => textOf(ownMember(moved, key)));
    const before = owners.get(owner.join('\n'));
    const both = before === undefined ? undefined : unionOf([before, moved].map(fieldsIn));
    owners.set(owner.join('\n'), both === undefined ? moved : { ...moved, fieldsV1: fieldsV1Of(both) });
  }
  return [...owners.values()];
}

function entryAtVersion(entry: JsonObject, live: KubeObject): JsonObject {
  const fieldsV1 = fieldsAtVersion(fieldsIn(entry), versionIn(entry), asJson(live));
  return { ...entry, apiVersion: live.apiVersion, fieldsV1 };
}

function versionIn(entry: JsonObject): string {
  return textOf(ownMember(entry, 'apiVersion'));
}
