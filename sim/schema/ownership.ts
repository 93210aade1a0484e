import { canonicalJson, cloneJson, deepEqual, isObject, parseJson } from '#base';
import type { Json, MutableJsonObject } from '#base';
import { annotationOf, apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyConflict, KindDefinition, ManagerInfo, OpenApiSchema } from '../types.ts';
import { OwnedFieldSet, showPath } from './fields/field-set.ts';
import {
  capUpdaters,
  decodeManagers,
  encodeManagers,
  managerIdentity,
  isReset,
  sameManagers,
} from './fields/managers.ts';
import type { FieldManager, FieldManagers } from './fields/managers.ts';
import {
  applyProblem,
  compareFields,
  ownedFieldsOf,
  mergeTyped,
  removeFields,
  withDeclaredParents,
} from './fields/typed.ts';
import { PatchError } from './json-patch.ts';

/**
 * Field ownership: server-side apply and tracking of all other writes (structured-merge-diff
 * merge/update.go and apimachinery util/managedfields).
 */
export interface FieldOwnershipDeps {
  /** The schema of the whole object, metadata included. */
  readonly schemaOf: (kind: KindDefinition) => OpenApiSchema;
  /** An empty object of the kind, before any field is set. */
  readonly blank: (kind: KindDefinition) => MutableJsonObject;
}

export type ServerSideApplyResult = { readonly object: KubeObject } | { readonly conflicts: readonly ApplyConflict[] };

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Fields without an owner: they identify the object or belong to the server. */
const unownedFields = OwnedFieldSet.of(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['f:metadata', `f:${name}`]),
);

export class FieldOwnership {
  readonly #deps: FieldOwnershipDeps;

  constructor(deps: FieldOwnershipDeps) {
    this.#deps = deps;
  }

  /**
   * See SchemaBook.serverSideApply.
   * @throws PatchError if the configuration does not fit the schema
   */
  apply(
    kind: KindDefinition,
    live: KubeObject | undefined,
    applied: KubeObject,
    how: ManagerInfo & { readonly force: boolean },
  ): ServerSideApplyResult {
    const schema = this.#deps.schemaOf(kind);
    const config = withoutManagers(applied);
    const problem = applyProblem(schema, config);
    if (problem !== undefined)
      throw new PatchError(`failed to create typed patch object (${describeObject(kind, applied)}): ${problem}`);
    const before = live === undefined ? this.#blank(kind, applied) : withoutManagers(live);
    const known = this.#managersBeforeApply(kind, live, how);
    const pass = new ApplyPass({ kind, schema, before, config, known, how });
    const result = pass.run(how.force);
    if ('object' in result || how.manager !== 'kubectl' || live === undefined) return result;
    // kubectl may take over unchanged fields of a client-side apply (managedfields:
    // lastAppliedManager).
    const allowed = this.#lastApplied(kind, live);
    const left = pass.conflicts.filter((conflict) => !allowed.has(conflict.path));
    return left.length === 0 ? pass.run(true) : { conflicts: left.map((conflict) => conflict.shown) };
  }

  /** See SchemaBook.trackUpdate. */
  track(kind: KindDefinition, before: KubeObject | undefined, after: KubeObject, how: ManagerInfo): KubeObject {
    const plain = withoutManagers(after);
    const known = managersOfUpdate(before, after, how);
    if (known.size === 0 && before !== undefined) return plain as unknown as KubeObject;
    const old = before === undefined ? this.#blank(kind, after) : withoutManagers(before);
    const changed = compareFields(this.#deps.schemaOf(kind), old, plain);
    const mine = ownableFields(kind, how, changed.added.union(changed.modified));
    const removed = ownableFields(kind, how, changed.removed);
    const next = new Map<string, FieldManager>();
    for (const [key, entry] of known) {
      const fields = entry.fields.difference(mine).difference(removed);
      if (!fields.isEmpty) next.set(key, { ...entry, fields });
    }
    if (!mine.isEmpty) {
      const self = selfEntry(kind, how, 'Update');
      const key = managerIdentity(self);
      const own = known.get(key)?.fields.difference(removed) ?? OwnedFieldSet.empty;
      // The server sets no time for writes through scale.
      next.set(key, { ...self, time: how.subresource === 'scale' ? undefined : how.time, fields: own.union(mine) });
    }
    const managers = sameManagers(known, next) && deepEqual(old, plain) ? known : capUpdaters(next);
    return withManagers(plain, managers);
  }

  #blank(kind: KindDefinition, object: KubeObject): MutableJsonObject {
    return { ...this.#deps.blank(kind), apiVersion: object.apiVersion, kind: object.kind };
  }

  /** At its first apply, the fields of an untracked object get a manager of this name. */
  #managersBeforeApply(kind: KindDefinition, live: KubeObject | undefined, how: ManagerInfo): FieldManagers {
    const known = decodeManagers(live?.metadata.managedFields) ?? new Map<string, FieldManager>();
    if (known.size > 0 || live === undefined) return known;
    const changed = compareFields(this.#deps.schemaOf(kind), this.#blank(kind, live), withoutManagers(live));
    const fields = ownableFields(kind, { ...how, subresource: '' }, changed.added.union(changed.modified));
    const self = selfEntry(kind, { ...how, manager: 'before-first-apply', subresource: '' }, 'Update');
    return fields.isEmpty ? known : new Map([[managerIdentity(self), { ...self, time: how.time, fields }]]);
  }

  #lastApplied(kind: KindDefinition, live: KubeObject): OwnedFieldSet {
    const text = annotationOf(live, lastAppliedAnnotation);
    const schema = this.#deps.schemaOf(kind);
    try {
      const last = parseJson(text ?? 'null');
      if (!isObject(last)) return OwnedFieldSet.empty;
      const changed = compareFields(schema, last, withoutManagers(live));
      return ownedFieldsOf(schema, last)
        .difference(changed.modified)
        .difference(changed.added)
        .difference(changed.removed);
    } catch {
      return OwnedFieldSet.empty;
    }
  }
}

interface ApplyInput {
  readonly kind: KindDefinition;
  readonly schema: OpenApiSchema;
  readonly before: MutableJsonObject;
  readonly config: MutableJsonObject;
  readonly known: FieldManagers;
  readonly how: ManagerInfo;
}

/** One apply of one configuration; may be repeated with force. */
class ApplyPass {
  conflicts: readonly { readonly path: readonly string[]; readonly shown: ApplyConflict }[] = [];
  readonly #in: ApplyInput;

  constructor(input: ApplyInput) {
    this.#in = input;
  }

  run(force: boolean): ServerSideApplyResult {
    const { kind, schema, before, config, known, how } = this.#in;
    const self = selfEntry(kind, how, 'Apply');
    const key = managerIdentity(self);
    const last = known.get(key);
    const applied = ownedFieldsOf(schema, config);
    const mine: FieldManager = { ...self, time: last?.time, fields: ownableFields(kind, how, applied) };
    const claimed = new Map(known).set(key, mine);
    const merged = mergeTyped(schema, before, config) as MutableJsonObject;
    // The entry owns the name until the prune: otherwise the prune drops all metadata.
    const withName = new Map(claimed).set(key, { ...mine, fields: applied });
    const pruned = last === undefined ? merged : pruneUnapplied(schema, merged, withName, last.fields);
    const changed = compareFields(schema, before, pruned);
    const touched = ownableFields(kind, how, changed.added.union(changed.modified));
    const removed = ownableFields(kind, how, changed.removed);
    this.conflicts = force ? [] : findConflicts(claimed, key, touched);
    if (this.conflicts.length > 0) return { conflicts: this.conflicts.map((conflict) => conflict.shown) };
    const next = new Map<string, FieldManager>();
    for (const [id, entry] of claimed) {
      const left = id === key ? entry.fields : entry.fields.difference(touched).difference(removed);
      if (!left.isEmpty) next.set(id, { ...entry, fields: left });
    }
    const quiet = deepEqual(before, pruned) && sameManagers(known, next);
    // A change of ownership alone does not update the time.
    if (!deepEqual(before, pruned) && next.has(key)) next.set(key, { ...mine, time: how.time });
    syncLastApplied(pruned, config, how.manager);
    return { object: withManagers(pruned, quiet ? known : next) };
  }
}

function findConflicts(
  managers: FieldManagers,
  self: string,
  touched: OwnedFieldSet,
): readonly { readonly path: readonly string[]; readonly shown: ApplyConflict }[] {
  return [...managers].flatMap(([key, entry]) =>
    key === self
      ? []
      : [...entry.fields.intersection(touched).paths()].map((path) => ({
          path,
          shown: { manager: entry.manager, field: showPath(path), detail: describeManager(entry) },
        })),
  );
}

/**
 * `"kubectl" with subresource "scale" using apps/v1 at 2024-01-01T00:00:00Z`: a manager in the
 * server's conflict message.
 */
function describeManager(entry: FieldManager): string {
  const subresource = entry.subresource === '' ? '' : ` with subresource "${entry.subresource}"`;
  const version = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
  return `"${entry.manager}"${subresource}${version}`;
}

/**
 * Removes fields that the manager applied last time and does not apply now, unless another manager
 * owns them or the new configuration contains them (`claimed` includes it).
 */
function pruneUnapplied(
  schema: OpenApiSchema,
  merged: MutableJsonObject,
  claimed: FieldManagers,
  last: OwnedFieldSet,
): MutableJsonObject {
  const all = (set: OwnedFieldSet): OwnedFieldSet => withDeclaredParents(schema, set);
  const fieldsIn = (value: Json): OwnedFieldSet => all(ownedFieldsOf(schema, value));
  const without = (set: OwnedFieldSet, emptied?: 'null'): MutableJsonObject =>
    (removeFields(schema, merged, set, emptied) ?? { metadata: {} }) as MutableJsonObject;
  const before = fieldsIn(merged);
  let owned = OwnedFieldSet.empty;
  for (const entry of claimed.values()) owned = owned.union(entry.fields);
  // A value that these steps empty stays as null, so its place counts as kept.
  const bare = without(all(last), 'null');
  const withOwned = without(before.difference(fieldsIn(bare).union(all(owned))), 'null');
  // A manager may remove only fields that it has applied.
  return without(before.difference(fieldsIn(withOwned)).intersection(all(last)));
}

/**
 * kubectl keeps the annotation of client-side apply current during server-side apply, so that both
 * can be mixed.
 */
function syncLastApplied(object: MutableJsonObject, config: MutableJsonObject, manager: string): void {
  if (manager !== 'kubectl') return;
  const metadata = object['metadata'];
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  if (!isObject(annotations) || !Object.hasOwn(annotations, lastAppliedAnnotation)) return;
  const copy = cloneJson(config);
  const inner = isObject(copy['metadata']) ? copy['metadata']['annotations'] : undefined;
  if (isObject(inner)) Reflect.deleteProperty(inner, lastAppliedAnnotation);
  annotations[lastAppliedAnnotation] = `${canonicalJson(copy)}\n`;
}

function managersOfUpdate(before: KubeObject | undefined, after: KubeObject, how: ManagerInfo): FieldManagers {
  const live = decodeManagers(before?.metadata.managedFields) ?? new Map<string, FieldManager>();
  if (how.subresource !== '') return live;
  if (isReset(after.metadata.managedFields)) return new Map();
  const given = decodeManagers(after.metadata.managedFields);
  return given === undefined || given.size === 0 ? live : given;
}

function selfEntry(
  kind: KindDefinition,
  how: ManagerInfo,
  operation: FieldManager['operation'],
): Omit<FieldManager, 'fields' | 'time'> {
  return {
    manager: how.manager,
    operation,
    apiVersion: apiVersionOf(kind.group, kind.version),
    subresource: how.subresource,
  };
}

/** The fields that a write may own: through status only status, otherwise everything but status. */
function ownableFields(kind: KindDefinition, how: ManagerInfo, fields: OwnedFieldSet): OwnedFieldSet {
  const kept = fields.difference(unownedFields);
  if (!kind.statusSubresource) return kept;
  const status = new OwnedFieldSet(
    new Set([...kept.members].filter((step) => step === 'f:status')),
    new Map([...kept.children].filter(([step]) => step === 'f:status')),
  );
  if (how.subresource === 'status') return status;
  return kept.recursiveDifference(OwnedFieldSet.of(['f:status']));
}

function withoutManagers(object: KubeObject): MutableJsonObject {
  const copy = cloneJson(object) as unknown as MutableJsonObject;
  if (isObject(copy['metadata'])) Reflect.deleteProperty(copy['metadata'], 'managedFields');
  return copy;
}

function withManagers(object: MutableJsonObject, managers: FieldManagers): KubeObject {
  const metadata = { ...(object['metadata'] as MutableJsonObject | undefined) };
  if (managers.size > 0) metadata['managedFields'] = encodeManagers(managers);
  return { ...object, metadata } as unknown as KubeObject;
}

function describeObject(kind: KindDefinition, object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata;
  return `${namespace}/${name}; ${kind.group}/${kind.version}, Kind=${kind.kind}`;
}
