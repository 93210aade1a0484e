import { deepEqual, isObject, ownMember, valueAt } from '#base';
import type { Json, JsonObject } from '#base';
import type { KubeObject } from '#model';
import { fieldsOwned } from '../field-ownership/managed-fields.ts';
import {
  appliedFields,
  foreignFields,
  isKubectlApply,
  isMainEntry,
  isOwnApply,
  isOwnUpdate,
  updatedFields,
} from '../field-ownership/own-entries.ts';
import type { OwnManager } from '../field-ownership/own-entries.ts';
import { asStored } from '../normalize/defaults.ts';
import { foldStringData } from '../normalize/secret.ts';
import { fieldOf, schemaOf } from '../schema/schema.ts';
import type { TypeSchema } from '../schema/schema.ts';
import { lastApplied } from './read-last-applied.ts';
import { asJson, isList, textOf, withMember, withoutMembers } from '../shared/values.ts';

/**
 * The manifest as it is merged with live, so that it says what a creation of it would make:
 *
 * - `stringData` is part of `data`.
 * - An empty list or null of addresses, families and ports of a Service is live's: the server
 *   allocates them.
 * - The claim that a PersistentVolume is bound to keeps what its controller adds (argo-cd 16058),
 *   but not what we alone have applied.
 * - `rollingUpdate` of a StatefulSet that becomes OnDelete is null: the server refuses it, even
 *   where it is only its own default.
 * - A NetworkPolicy without `policyTypes` gets those that a creation would get, if live has others.
 *   The server chooses them once: otherwise egress rules that Git adds later are not enforced, and
 *   those that it drops deny all traffic. Types that another manager set stay.
 */
export function sentForm(target: KubeObject, live: KubeObject | null, own: OwnManager): JsonObject {
  const sent = foldStringData(asJson(target));
  const spec = ownMember(sent, 'spec');
  if (live === null || !isObject(spec)) return sent;
  const [version, kind] = [textOf(ownMember(sent, 'apiVersion')), ownMember(sent, 'kind')];
  if (version === 'v1' && kind === 'Service')
    return withSpec(sent, spec, withAllocated(spec, ownMember(asJson(live), 'spec')));
  if (version === 'v1' && kind === 'PersistentVolume') return withSpec(sent, spec, withBoundClaim(spec, live, own));
  if (version === 'apps/v1' && kind === 'StatefulSet') return withSpec(sent, spec, withoutRollingUpdate(spec, live));
  if (!version.startsWith('networking.k8s.io/') || kind !== 'NetworkPolicy') return sent;
  const types = typesToSend(target, spec, asJson(live), own);
  return types === undefined ? sent : withMember(sent, 'spec', withMember(spec, 'policyTypes', types));
}

function withSpec(object: JsonObject, before: JsonObject, after: JsonObject): JsonObject {
  return after === before ? object : withMember(object, 'spec', after);
}

const allocated = ['clusterIP', 'clusterIPs', 'ipFamilies', 'ipFamilyPolicy', 'healthCheckNodePort'];

function withAllocated(spec: JsonObject, live: Json | undefined): JsonObject {
  if (!isObject(live)) return spec;
  const empty = allocated.filter((key) => isEmptyList(ownMember(spec, key)) || ownMember(spec, key) === null);
  const filled = empty.reduce((all, key) => withMember(all, key, ownMember(live, key) ?? null), spec);
  const ports = ownMember(filled, 'ports');
  if (!isList(ports)) return filled;
  const isOpen = (port: JsonObject, key: string): boolean => ownMember(port, key) === null;
  const open = ports.map((port) => {
    const keys = isObject(port) ? ['nodePort', 'protocol'].filter((key) => isOpen(port, key)) : [];
    return keys.length === 0 ? port : withoutMembers(port as JsonObject, keys);
  });
  return open.every((port, i) => port === ports[i]) ? filled : withMember(filled, 'ports', open);
}

/** Members of a reference to a claim that the volume controller adds. */
const noted = new Set(['kind', 'apiVersion', 'uid', 'resourceVersion']);

function withBoundClaim(spec: JsonObject, live: KubeObject, own: OwnManager): JsonObject {
  const [wanted, bound] = [ownMember(spec, 'claimRef'), valueAt(asJson(live), 'spec', 'claimRef')];
  if (!isObject(wanted) || !isObject(bound) || ownMember(wanted, 'uid') !== undefined) return spec;
  const isOther = ['namespace', 'name'].some((key) => ownMember(wanted, key) !== ownMember(bound, key));
  if (isOther) return spec;
  const isAdded = appliedByOthers(live, own);
  const added = Object.fromEntries(Object.entries(bound).filter(([key]) => noted.has(key) && isAdded(key)));
  return withMember(spec, 'claimRef', { ...added, ...wanted });
}

/** Whether a member of the reference is not what we alone have applied, and Git may drop. */
function appliedByOthers(live: KubeObject, own: OwnManager): (key: string) => boolean {
  const object = asJson(live);
  const before = valueAt(lastApplied(live) ?? null, 'spec', 'claimRef');
  const ours = [...appliedFields(object, own), ...updatedFields(object, own)];
  const others = foreignFields(object, own);
  const haveIt = (sets: readonly JsonObject[], key: string): boolean =>
    sets.some((fields) => {
      const reference = valueAt(fields, 'f:spec', 'f:claimRef');
      return isObject(reference) && (Object.keys(reference).length === 0 || reference[`f:${key}`] !== undefined);
    });
  return (key) =>
    haveIt(others, key) || !(haveIt(ours, key) || (isObject(before) && ownMember(before, key) !== undefined));
}

function withoutRollingUpdate(spec: JsonObject, live: KubeObject): JsonObject {
  const strategy = ownMember(spec, 'updateStrategy');
  const present = valueAt(asJson(live), 'spec', 'updateStrategy', 'rollingUpdate') ?? null;
  if (!isObject(strategy) || ownMember(strategy, 'type') !== 'OnDelete' || present === null) return spec;
  if ((ownMember(strategy, 'rollingUpdate') ?? null) !== null) return spec;
  return withMember(spec, 'updateStrategy', withMember(strategy, 'rollingUpdate', null));
}

function isEmptyList(value: Json | undefined): boolean {
  return isList(value) && value.length === 0;
}

function typesToSend(target: KubeObject, spec: JsonObject, live: JsonObject, own: OwnManager): Json | undefined {
  const [type, present, given] = [schemaOf(target), ownMember(live, 'spec'), ownMember(spec, 'policyTypes') ?? null];
  if (type === undefined || !isObject(present) || (given !== null && !isEmptyList(given))) return undefined;
  const stored = asStored(withMember(asJson(target), 'spec', withoutMembers(spec, ['policyTypes'])), type);
  const created = isObject(stored) ? ownMember(stored, 'spec') : undefined;
  const types = isObject(created) ? ownMember(created, 'policyTypes') : undefined;
  if (types === undefined || deepEqual(types, ownMember(present, 'policyTypes') ?? null)) return undefined;
  return isSetByOthers(spec, live, own) ? undefined : types;
}

/**
 * Whether the types, or egress rules that stay, belong to another manager, which applied or edited
 * them. The creator of a policy owns its selector or its metadata as well: it did not choose the
 * types, the server did.
 */
function isSetByOthers(spec: JsonObject, live: JsonObject, own: OwnManager): boolean {
  const applied = fieldsOwned(live, (entry) => isMainEntry(entry, 'Apply') && !isOwnApply(entry, own));
  const updated = fieldsOwned(
    live,
    (entry) => isMainEntry(entry, 'Update') && !isOwnUpdate(entry, own) && !isKubectlApply(entry),
  );
  const keepsEgress = (ownMember(spec, 'egress') ?? null) === null;
  if (keepsEgress && [...applied, ...updated].some((fields) => owns(fields, 'egress'))) return true;
  const edited = updated.filter(
    (fields) => !owns(fields, 'podSelector') && ownMember(fields, 'f:metadata') === undefined,
  );
  return [...applied, ...edited].some((fields) => owns(fields, 'policyTypes'));
}

function owns(fields: JsonObject, key: string): boolean {
  const spec = ownMember(fields, 'f:spec');
  return isObject(spec) && ownMember(spec, `f:${key}`) !== undefined;
}

/** A server-side apply and a replacement store a null in a map of strings as an empty string. */
export function withEmptyTexts(value: Json, type: TypeSchema | undefined): Json {
  if (!isObject(value) || type === undefined || type.form === 'list' || type.form === 'scalar') return value;
  const isText = type.form === 'map' && type.items.form === 'scalar' && type.items.kind === 's';
  let result = value;
  for (const key of Object.keys(value)) {
    const before = value[key] ?? null;
    const after = isText && before === null ? '' : withEmptyTexts(before, fieldOf(type, key)?.type);
    if (after !== before) result = withMember(result, key, after);
  }
  return result;
}
