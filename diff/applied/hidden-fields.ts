import { deepEqual, formatPointer, isObject, ownMember, parseJson } from '#base';
import type { Json, JsonObject } from '#base';
import { groupOf } from '#model';
import type { KubeObject } from '#model';
import { unionOf } from '../field-ownership/field-owners.ts';
import { parseFields } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { foreignFields, isOwnApply, saysWhatWasApplied } from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { lastAppliedText } from '../patch/last-applied.ts';
import { schemaOf } from '../schema/schema.ts';
import { asJson, isList, textOf } from '../shared/values.ts';
import type { MergeMethod } from './applied-before.ts';
import { entriesOf, fieldsIn } from './entries.ts';
import { readLastApplied } from './read-last-applied.ts';
import { withoutRetired } from './retired-versions.ts';

/** How an object is sent, and whether a server-side apply takes over what was applied otherwise. */
export interface SendingMethod {
  readonly method: MergeMethod | 'server';
  readonly adoptFrom?: string | undefined;
}

/** A place in the manifest and in the live object. */
interface Place {
  readonly target: Json | undefined;
  readonly live: Json | undefined;
  readonly path: readonly string[];
}

/** Both versions show them alike, or they are not the manifest's. */
const commonMembers: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/**
 * JSON pointers of fields of a custom resource that we applied at another API version, and that
 * neither the manifest nor the live object has at the manifest's version. Git has dropped them, or
 * the versions name them differently: only the conversion of the server tells. One more write
 * removes what was dropped, and records the fields at the present version.
 */
export function hiddenFields(target: KubeObject, live: KubeObject, how: SendingMethod, own: OwnManager): string[] {
  if (schemaOf(target) !== undefined || target.apiVersion !== live.apiVersion) return [];
  const isFormer = (apiVersion: Json | undefined): boolean =>
    textOf(apiVersion) !== target.apiVersion && groupOf(textOf(apiVersion)) === groupOf(target.apiVersion);
  const root = { target: asJson(target), live: asJson(live), path: [] };
  const manifest = how.method === 'client' ? readLastApplied(live).manifest : undefined;
  const paths =
    manifest !== undefined && isFormer(ownMember(manifest, 'apiVersion')) ? hiddenMembers(manifest, root) : [];
  const entries = entriesOf(live).filter((entry) => isFormer(ownMember(entry, 'apiVersion')));
  const ours = entries.filter(
    (entry) => isOwnApply(entry, own) || (countsUpdates(live, how) && saysWhatWasApplied(entry, own)),
  );
  const others = ours.length === 0 ? undefined : unionOf(foreignFields(asJson(live), own));
  for (const entry of ours) paths.push(...hiddenIn(parseFields(fieldsIn(entry)), others, root));
  return [...new Set(paths)].sort();
}

function countsUpdates(live: KubeObject, { method, adoptFrom }: SendingMethod): boolean {
  if (method === 'server') return adoptFrom !== undefined;
  return method === 'replace' || lastAppliedText(live) === undefined;
}

/** Members of a manifest that was applied at the other version. */
function hiddenMembers(applied: JsonObject, here: Place): string[] {
  const names = Object.keys(applied).filter((name) => here.path.length > 0 || !commonMembers.has(name));
  return names.flatMap((name) => hiddenValue(ownMember(applied, name), memberAt(here, name)));
}

function hiddenValue(applied: Json | undefined, here: Place): string[] {
  if ((applied ?? null) === null) return [];
  if (here.target === undefined && here.live === undefined) return [formatPointer(here.path)];
  if (isList(applied)) return applied.flatMap((item, i) => hiddenValue(item, itemAt(here, i)));
  return isObject(applied) ? hiddenMembers(applied, here) : [];
}

/** Fields of an entry of ours at the other version. */
function hiddenIn(fields: FieldSet, others: FieldSet | undefined, here: Place): string[] {
  return [...fields.children].flatMap(([step, inner]) => {
    const name = step.slice(2);
    if (here.path.length === 0 && commonMembers.has(name)) return [];
    const below = step.startsWith('f:') ? memberAt(here, name) : keyedItemAt(here, step);
    const theirs = others?.children.get(step);
    if (inner.children.size > 0 && (theirs !== undefined || isThere(below))) return hiddenIn(inner, theirs, below);
    return theirs === undefined && (!isThere(below) || isOpaque(below)) ? [formatPointer(below.path)] : [];
  });
}

function isThere({ target, live }: Place): boolean {
  return target !== undefined || live !== undefined;
}

/** Whether the entry owns the value as a whole, and does not tell what was in it. */
function isOpaque({ live }: Place): boolean {
  if (isList(live)) return live.some((item) => isObject(item));
  return isObject(live) && Object.keys(live).length > 0;
}

function memberAt({ target, live, path }: Place, name: string): Place {
  const of = (value: Json | undefined): Json | undefined => (isObject(value) ? ownMember(value, name) : undefined);
  return { target: of(target), live: of(live), path: [...path, name] };
}

function itemAt({ target, live, path }: Place, index: number): Place {
  const of = (value: Json | undefined): Json | undefined => (isList(value) ? value[index] : undefined);
  return { target: of(target), live: of(live), path: [...path, String(index)] };
}

/** The item with the keys of a step, or the one of a set. */
function keyedItemAt({ target, live, path }: Place, step: string): Place {
  const keys = parseJson(step.slice(2));
  const isIt = (item: Json): boolean =>
    isObject(item) && isObject(keys)
      ? Object.keys(keys).every((key) => deepEqual(ownMember(item, key) ?? null, keys[key] ?? null))
      : deepEqual(item, keys);
  const of = (value: Json | undefined): Json | undefined => (isList(value) ? value.find(isIt) : undefined);
  return { target: of(target), live: of(live), path: [...path, step.slice(2)] };
}

/**
 * The managed fields that a replacement sends, so that our entries of former versions count no
 * longer: it has set the whole object. Undefined: there are none.
 */
export function recordAtVersion(
  target: KubeObject,
  live: KubeObject,
  own: OwnManager,
): readonly JsonObject[] | undefined {
  if (hiddenFields(target, live, { method: 'replace' }, own).length === 0) return undefined;
  const ours = entriesOf(live).filter((entry) => saysWhatWasApplied(entry, own));
  const former = ours.map((entry) => textOf(ownMember(entry, 'apiVersion')));
  const others = entriesOf(live).filter((entry) => !ours.includes(entry));
  return [...others, ...withoutRetired(ours, former, live)];
}
