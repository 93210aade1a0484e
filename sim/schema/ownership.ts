import { cloneJson, deepEqual, isObject, parseJson } from '#base';
import type { Json, MutableJsonObject } from '#base';
import { annotationOf, apiVersionOf } from '#model';
import type { KubeObject } from '#model';
import type { ApplyConflict, KindDefinition, ManagerInfo, Schema } from '../types.ts';
import { FieldSet, showPath } from './fields/field-set.ts';
import { capUpdaters, decodeManagers, encodeManagers, identity, isReset, sameManagers } from './fields/managers.ts';
import type { Manager, Managers } from './fields/managers.ts';
import { applyProblem, compare, fieldsOf, merge, removeFields, withDeclaredParents } from './fields/typed.ts';
import { PatchError } from './json-patch.ts';

/**
 * Who owns which field: server-side apply and the tracking of all other writes.
 * Source of the behaviour: structured-merge-diff merge/update.go and apimachinery util/managedfields.
 */
export interface OwnershipDeps {
  /** The schema of the whole object, metadata included. */
  readonly schemaOf: (kind: KindDefinition) => Schema;
  /** What an object of the kind is before anything was said about it. */
  readonly blank: (kind: KindDefinition) => MutableJsonObject;
}

export type ApplyResult = { readonly object: KubeObject } | { readonly conflicts: readonly ApplyConflict[] };

const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** Nobody owns these: they name the object or are the server's. */
const unowned = FieldSet.of(
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

export class Ownership {
  readonly #deps: OwnershipDeps;

  constructor(deps: OwnershipDeps) {
    this.#deps = deps;
  }

  /** See SchemaBook.serverSideApply. @throws PatchError when the configuration does not fit the schema */
  apply(
    kind: KindDefinition,
    live: KubeObject | undefined,
    applied: KubeObject,
    how: ManagerInfo & { readonly force: boolean },
  ): ApplyResult {
    const schema = this.#deps.schemaOf(kind);
    const config = withoutManagers(applied);
    const problem = applyProblem(schema, config);
    if (problem !== undefined)
      throw new PatchError(`failed to create typed patch object (${nameOf(kind, applied)}): ${problem}`);
    const before = live === undefined ? this.#blank(kind, applied) : withoutManagers(live);
    const known = this.#managersBeforeApply(kind, live, how);
    const pass = new ApplyPass({ kind, schema, before, config, known, how });
    const result = pass.run(how.force);
    if ('object' in result || how.manager !== 'kubectl' || live === undefined) return result;
    // What client-side apply has set, and nobody changed since, kubectl may take over (managedfields: lastAppliedManager).
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
    const changed = compare(this.#deps.schemaOf(kind), old, plain);
    const mine = ownable(kind, how, changed.added.union(changed.modified));
    const removed = ownable(kind, how, changed.removed);
    const next = new Map<string, Manager>();
    for (const [key, entry] of known) {
      const fields = entry.fields.difference(mine).difference(removed);
      if (!fields.isEmpty) next.set(key, { ...entry, fields });
    }
    if (!mine.isEmpty) {
      const self = selfEntry(kind, how, 'Update');
      const key = identity(self);
      const own = known.get(key)?.fields.difference(removed) ?? FieldSet.empty;
      // The server does not time what comes through scale.
      next.set(key, { ...self, time: how.subresource === 'scale' ? undefined : how.time, fields: own.union(mine) });
    }
    const managers = sameManagers(known, next) && deepEqual(old, plain) ? known : capUpdaters(next);
    return withManagers(plain, managers);
  }

  #blank(kind: KindDefinition, object: KubeObject): MutableJsonObject {
    return { ...this.#deps.blank(kind), apiVersion: object.apiVersion, kind: object.kind };
  }

  /** An object that was never tracked belongs, at its first apply, to a manager of that name. */
  #managersBeforeApply(kind: KindDefinition, live: KubeObject | undefined, how: ManagerInfo): Managers {
    const known = decodeManagers(live?.metadata.managedFields) ?? new Map<string, Manager>();
    if (known.size > 0 || live === undefined) return known;
    const changed = compare(this.#deps.schemaOf(kind), this.#blank(kind, live), withoutManagers(live));
    const fields = ownable(kind, { ...how, subresource: '' }, changed.added.union(changed.modified));
    const self = selfEntry(kind, { ...how, manager: 'before-first-apply', subresource: '' }, 'Update');
    return fields.isEmpty ? known : new Map([[identity(self), { ...self, time: how.time, fields }]]);
  }

  #lastApplied(kind: KindDefinition, live: KubeObject): FieldSet {
    const text = annotationOf(live, lastAppliedAnnotation);
    const schema = this.#deps.schemaOf(kind);
    try {
      const last = parseJson(text ?? 'null');
      if (!isObject(last)) return FieldSet.empty;
      const changed = compare(schema, last, withoutManagers(live));
      return fieldsOf(schema, last).difference(changed.modified).difference(changed.added).difference(changed.removed);
    } catch {
      return FieldSet.empty;
    }
  }
}

interface ApplyInput {
  readonly kind: KindDefinition;
  readonly schema: Schema;
  readonly before: MutableJsonObject;
  readonly config: MutableJsonObject;
  readonly known: Managers;
  readonly how: ManagerInfo;
}

/** One apply of one configuration; may be run again with force. */
class ApplyPass {
  conflicts: readonly { readonly path: readonly string[]; readonly shown: ApplyConflict }[] = [];
  readonly #in: ApplyInput;

  constructor(input: ApplyInput) {
    this.#in = input;
  }

  run(force: boolean): ApplyResult {
    const { kind, schema, before, config, known, how } = this.#in;
    const self = selfEntry(kind, how, 'Apply');
    const key = identity(self);
    const last = known.get(key);
    const fields = ownable(kind, how, fieldsOf(schema, config));
    const mine: Manager = { ...self, time: last?.time, fields };
    const claimed = new Map(known).set(key, mine);
    const merged = merge(schema, before, config) as MutableJsonObject;
    const pruned = last === undefined ? merged : prune(schema, merged, claimed, last.fields);
    const changed = compare(schema, before, pruned);
    const touched = ownable(kind, how, changed.added.union(changed.modified));
    const removed = ownable(kind, how, changed.removed);
    this.conflicts = force ? [] : findConflicts(claimed, key, touched);
    if (this.conflicts.length > 0) return { conflicts: this.conflicts.map((conflict) => conflict.shown) };
    const next = new Map<string, Manager>();
    for (const [id, entry] of claimed) {
      const left = id === key ? entry.fields : entry.fields.difference(touched).difference(removed);
      if (!left.isEmpty) next.set(id, { ...entry, fields: left });
    }
    const quiet = deepEqual(before, pruned) && sameManagers(known, next);
    // A change of ownership alone is not timed.
    if (!deepEqual(before, pruned) && next.has(key)) next.set(key, { ...mine, time: how.time });
    syncLastApplied(pruned, config, how.manager);
    return { object: withManagers(pruned, quiet ? known : next) };
  }
}

function findConflicts(
  managers: Managers,
  self: string,
  touched: FieldSet,
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

/** `"kubectl" with subresource "scale" using apps/v1 at 2024-01-01T00:00:00Z`: how the server names a manager in a conflict. */
function describeManager(entry: Manager): string {
  const subresource = entry.subresource === '' ? '' : ` with subresource "${entry.subresource}"`;
  const version = entry.operation === 'Update' ? ` using ${entry.apiVersion}` : '';
  return `"${entry.manager}"${subresource}${version}`;
}

/**
 * Takes away what the manager applied last time and does not apply now, unless somebody owns it (or it is part of the new
 * configuration, which `claimed` already holds).
 */
function prune(schema: Schema, merged: MutableJsonObject, claimed: Managers, last: FieldSet): MutableJsonObject {
  const all = (set: FieldSet): FieldSet => withDeclaredParents(schema, set);
  const fieldsIn = (value: Json): FieldSet => all(fieldsOf(schema, value));
  const without = (set: FieldSet): MutableJsonObject =>
    (removeFields(schema, merged, set) ?? { metadata: {} }) as MutableJsonObject;
  const before = fieldsIn(merged);
  let owned = FieldSet.empty;
  for (const entry of claimed.values()) owned = owned.union(entry.fields);
  const bare = without(all(last));
  const withOwned = without(before.difference(fieldsIn(bare).union(all(owned))));
  // What was never applied by this manager is not its to remove.
  return without(before.difference(fieldsIn(withOwned)).intersection(all(last)));
}

/** kubectl keeps the annotation of client-side apply true when it applies on the server, so that both may be mixed. */
function syncLastApplied(object: MutableJsonObject, config: MutableJsonObject, manager: string): void {
  if (manager !== 'kubectl') return;
  const metadata = object['metadata'];
  const annotations = isObject(metadata) ? metadata['annotations'] : undefined;
  if (!isObject(annotations) || !Object.hasOwn(annotations, lastAppliedAnnotation)) return;
  const copy = cloneJson(config);
  const inner = isObject(copy['metadata']) ? copy['metadata']['annotations'] : undefined;
  if (isObject(inner)) Reflect.deleteProperty(inner, lastAppliedAnnotation);
  annotations[lastAppliedAnnotation] = `${JSON.stringify(copy)}\n`;
}

function managersOfUpdate(before: KubeObject | undefined, after: KubeObject, how: ManagerInfo): Managers {
  const live = decodeManagers(before?.metadata.managedFields) ?? new Map<string, Manager>();
  if (how.subresource !== '') return live;
  if (isReset(after.metadata.managedFields)) return new Map();
  const given = decodeManagers(after.metadata.managedFields);
  return given === undefined || given.size === 0 ? live : given;
}

function selfEntry(
  kind: KindDefinition,
  how: ManagerInfo,
  operation: Manager['operation'],
): Omit<Manager, 'fields' | 'time'> {
  return {
    manager: how.manager,
    operation,
    apiVersion: apiVersionOf(kind.group, kind.version),
    subresource: how.subresource,
  };
}

/** What of a set may be owned: through the main resource no status, through status nothing else. */
function ownable(kind: KindDefinition, how: ManagerInfo, fields: FieldSet): FieldSet {
  const kept = fields.difference(unowned);
  if (!kind.statusSubresource) return kept;
  const status = new FieldSet(
    new Set([...kept.members].filter((step) => step === 'f:status')),
    new Map([...kept.children].filter(([step]) => step === 'f:status')),
  );
  if (how.subresource === 'status') return status;
  return kept.recursiveDifference(FieldSet.of(['f:status']));
}

function withoutManagers(object: KubeObject): MutableJsonObject {
  const copy = cloneJson(object) as unknown as MutableJsonObject;
  if (isObject(copy['metadata'])) Reflect.deleteProperty(copy['metadata'], 'managedFields');
  return copy;
}

function withManagers(object: MutableJsonObject, managers: Managers): KubeObject {
  const metadata = { ...(object['metadata'] as MutableJsonObject | undefined) };
  if (managers.size > 0) metadata['managedFields'] = encodeManagers(managers);
  return { ...object, metadata } as unknown as KubeObject;
}

function nameOf(kind: KindDefinition, object: KubeObject): string {
  const { namespace = '', name = '' } = object.metadata;
  return `${namespace}/${name}; ${kind.group}/${kind.version}, Kind=${kind.kind}`;
}
