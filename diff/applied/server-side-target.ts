import { isObject, ownMember } from '#base';
import type { JsonObject } from '#base';
import type { KubeObject } from '#model';
import { fieldOwnersOf, unionOf } from '../field-ownership/field-owners.ts';
import { fieldStep } from '../field-ownership/field-set.ts';
import type { FieldSet } from '../field-ownership/field-set.ts';
import { fieldOf, schemaOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { containsTwins, isTwinDropped, twinFields } from '../schema/twins.ts';
import { asJson, asKube, withMember } from '../shared/values.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { sentForm } from './sent-form.ts';

/**
 * The object to send by server-side apply. Secrets: `stringData` as `data`, where the server stores
 * it. A dropped field that the server would restore from its deprecated twin is removed by an empty
 * twin, if nobody else owns either: an apply alone removes only what it owns.
 *
 * @param owned the live object with the managed fields that the apply will find.
 */
export function serverSideTarget(target: KubeObject, owned: KubeObject | null, own: OwnManager = {}): KubeObject {
  const sent = sentForm(target, owned, own);
  const type = schemaOf(target);
  if (owned === null || !dropsTwin(sent, asJson(owned), type)) return asKube(sent);
  const { ours, others } = fieldOwnersOf(asJson(owned), own);
  return asKube(withEmptyTwins(sent, asJson(owned), { type, ours: unionOf(ours), others: unionOf(others) }));
}

/** Whether the target lacks a field that the live object has with a twin. */
function dropsTwin(target: JsonObject, live: JsonObject, type: TypeSchema | undefined): boolean {
  if (type?.form !== 'struct' || !containsTwins(type.name)) return false;
  const twins = twinFields(type.name);
  if (twins !== undefined && isTwinDropped(target, live, twins)) return true;
  return Object.keys(target).some((key) => {
    const [before, there] = [ownMember(target, key), ownMember(live, key)];
    return isObject(before) && isObject(there) && dropsTwin(before, there, fieldOf(type, key)?.type);
  });
}

interface TwinOwners {
  readonly type: TypeSchema | undefined;
  readonly ours: FieldSet;
  readonly others: FieldSet | undefined;
}

/** Twins are only in structs, so lists and maps are not searched. */
function withEmptyTwins(target: JsonObject, live: JsonObject, { type, ours, others }: TwinOwners): JsonObject {
  if (type?.form !== 'struct') return target;
  let result = target;
  for (const twin of emptyTwins(target, live, { type, ours, others }))
    result = withMember(result, twin, isObject(ownMember(live, twin)) ? null : '');
  for (const key of Object.keys(target)) {
    const [before, there] = [ownMember(target, key), ownMember(live, key)];
    const inner = ours.children.get(fieldStep(key));
    const field = fieldOf(type, key)?.type;
    if (inner === undefined || !isObject(before) || !isObject(there)) continue;
    if (field?.form !== 'struct' || !containsTwins(field.name)) continue;
    const below = { type: field, ours: inner, others: others?.children.get(fieldStep(key)) };
    const after = withEmptyTwins(before, there, below);
    if (after !== before) result = withMember(result, key, after);
  }
  return result;
}

function emptyTwins(target: JsonObject, live: JsonObject, { type, ours, others }: TwinOwners): readonly string[] {
  const twins = type?.form === 'struct' ? twinFields(type.name) : undefined;
  if (twins === undefined || !isTwinDropped(target, live, twins)) return [];
  const { current, deprecated } = twins;
  const isOwned = (owners: FieldSet | undefined, key: string): boolean => owners?.children.has(fieldStep(key)) === true;
  if (isOwned(others, current) || isOwned(others, deprecated)) return [];
  return [...(isOwned(ours, current) ? [deprecated] : []), ...(isOwned(ours, deprecated) ? [current] : [])];
}
