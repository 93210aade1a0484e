import { hashText } from '#base';
import { keyOf, refOf } from '#model';
import type { GroupKind, ObjectName, ResourceKey } from '#model';
import type { NodeStore } from '../store/node-store.ts';
import type { StoredNode } from '../objects/stored-node.ts';
import type { ManagedQuery } from '../types.ts';
import type { KindTrust } from '../watch/kind-watch.ts';
import { machinesOf } from './machines.ts';

export interface EvidenceSources {
  readonly store: NodeStore;
  /** Version of the kinds that are not fresh, in the whole cluster. */
  readonly degradedVersion: number;
  /** Undefined if the kind is not watched there. */
  readonly trustOf: (kind: GroupKind, namespace: string) => KindTrust | undefined;
}

/**
 * Identifies everything that `managed`, `tree` and `machines` read for one Application: equal
 * evidence, equal answers. It consists of the number of the write that stored each object in the
 * tree and each of its owners, the generations of their kinds, and the machines of the pods.
 * Undefined if an answer would depend on more than the cache, or if the cache is in doubt.
 */
export function evidenceOf(query: ManagedQuery, sources: EvidenceSources): string | undefined {
  const { store, degradedVersion } = sources;
  const reader = new EvidenceReader(sources);
  const roots = new Set<ResourceKey>();
  for (const target of [...query.targets, ...(query.lastKnown ?? []), ...watchedDestination(query, sources)]) {
    const key = namedKey(target);
    if (key === undefined || roots.has(key)) continue;
    roots.add(key);
    const node = store.get(key);
    reader.addKind(refOf(target));
    if (!isWhole(node)) return undefined;
  }
  for (const node of store.ofApp(query.app)) {
    if (node.isRoot && !isWhole(node)) return undefined;
    roots.add(node.key);
  }
  const pods: ResourceKey[] = [];
  store.walk(roots, (node, parents) => {
    reader.addKind(node);
    reader.addNode(node, parents);
    if (node.details?.pod !== undefined) pods.push(node.key);
    return true;
  });
  if (reader.isInDoubt) return undefined;
  const machines = pods.length === 0 ? '' : hashText(JSON.stringify(machinesOf(store, pods)));
  return [degradedVersion, reader.kinds(), reader.nodes(), machines].join(' ');
}

/** A Namespace out of reach is no part of an answer. */
function watchedDestination({ destination }: ManagedQuery, { trustOf }: EvidenceSources): readonly ObjectName[] {
  return destination === undefined || trustOf(refOf(destination), '') === undefined ? [] : [destination];
}

/** The answer contains the object; it must be in the cache. An object that is absent is whole. */
function isWhole(node: StoredNode | undefined): boolean {
  return node === undefined || node.body !== undefined || (node.fetched?.size ?? 0) > 0;
}

function namedKey(target: ObjectName): ResourceKey | undefined {
  return (target.metadata.name ?? '') === '' ? undefined : keyOf(target);
}

const untrusted: KindTrust = { generation: 0, isTrusted: false };

type KindPlace = GroupKind & { readonly namespace: string };

/** Collects the parts of the evidence in the order of reading. */
class EvidenceReader {
  readonly #sources: EvidenceSources;
  readonly #generations = new Map<string, number>();
  /** Neighbours in the tree are mostly of one kind. */
  #last: KindPlace | undefined;
  readonly #stamps: string[] = [];
  #isInDoubt = false;

  constructor(sources: EvidenceSources) {
    this.#sources = sources;
  }

  /** The cache of one of the kinds is in doubt. */
  get isInDoubt(): boolean {
    return this.#isInDoubt;
  }

  /** Also for an object that does not exist: its kind must be current. */
  addKind(at: KindPlace): void {
    const last = this.#last;
    if (last?.kind === at.kind && last.group === at.group && last.namespace === at.namespace) return;
    this.#last = at;
    const place = `${at.group}/${at.kind}/${at.namespace}`;
    if (this.#generations.has(place)) return;
    const { generation, isTrusted } = this.#sources.trustOf(at, at.namespace) ?? untrusted;
    this.#isInDoubt ||= !isTrusted;
    this.#generations.set(place, generation);
  }

  /** Owners outside of the tree are shown as parents too. */
  addNode(node: StoredNode, parents: readonly ResourceKey[]): void {
    const owners = parents.map((key) => this.#sources.store.get(key)?.stamp ?? 0);
    this.#stamps.push(owners.length === 0 ? String(node.stamp) : `${node.stamp}<${owners.join('<')}`);
  }

  kinds(): string {
    return [...this.#generations.values()].join(',');
  }

  nodes(): string {
    return this.#stamps.join(',');
  }
}
