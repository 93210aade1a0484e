import { isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { groupOf } from '#model';
import type { KubeObject } from '#model';
import { hasOwnEntry } from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { manifestAtVersion } from '../field-ownership/other-version.ts';
import { foldStringData } from '../normalize/secret.ts';
import { lastAppliedText, parseLastApplied } from '../patch/last-applied.ts';
import { asJson, textOf, withoutNulls } from '../shared/values.ts';

/** The last-applied annotation of a live object; without a manifest, it removes nothing. */
export interface LastApplied {
  readonly manifest?: JsonObject;
  /** Why the annotation does not count, as the end of a sentence about it. */
  readonly fault?: string;
}

/** Reads the annotation. That of another object, copied with its metadata, does not count. */
export function readLastApplied(live: KubeObject): LastApplied {
  const text = lastAppliedText(live);
  if (text === undefined) return {};
  const manifest = parseLastApplied(text);
  if (manifest === undefined) return { fault: 'is not a JSON object' };
  const other = otherObject(manifest, live);
  if (other !== undefined) return { fault: `is of ${other}` };
  // A null removed something when it was applied, and set nothing.
  return { manifest: manifestAtVersion(foldStringData(withoutNulls(manifest) as JsonObject), asJson(live)) };
}

/** The object that the manifest names, if it is another one. */
function otherObject(manifest: JsonObject, live: KubeObject): string | undefined {
  const metadata = ownMember(manifest, 'metadata');
  const [kind, name] = [ownMember(manifest, 'kind'), inner(metadata, 'name')];
  const isOther =
    differs(kind, live.kind) ||
    differs(name, live.metadata.name) ||
    differs(inner(metadata, 'namespace'), live.metadata.namespace) ||
    differs(groupIn(manifest), groupOf(live.apiVersion));
  return isOther ? `${textOf(kind)}/${textOf(name)}` : undefined;
}

function inner(value: Json | undefined, key: string): Json | undefined {
  return isObject(value) ? ownMember(value, key) : undefined;
}

function groupIn(manifest: JsonObject): string | undefined {
  const apiVersion = textOf(ownMember(manifest, 'apiVersion'));
  return apiVersion === '' ? undefined : groupOf(apiVersion);
}

/** A name or namespace that only one side has does not contradict the other. */
function differs(applied: Json | undefined, live: string | undefined): boolean {
  return applied !== undefined && applied !== null && live !== undefined && applied !== live;
}

/** Parses the last-applied annotation; undefined if it is missing or does not count. */
export function lastApplied(live: KubeObject): JsonObject | undefined {
  return readLastApplied(live).manifest;
}

/** {@link readLastApplied} of the object as it was read. */
export function lastAppliedFault(live: KubeObject): string | undefined {
  return readLastApplied(live).fault;
}

/**
 * Whether nothing in the object says what we applied: no annotation, and no entry of ours in the
 * managed fields. An operator has trimmed them, or we never applied it.
 */
export function lacksAppliedRecord(live: KubeObject, own: OwnManager): boolean {
  return lastAppliedText(live) === undefined && !hasOwnEntry(asJson(live), own);
}
