import type { GroupKind } from '#model';
import { kindText } from '../discovery/discovery.ts';
import type { KindTrust, KindWatch } from './kind-watch.ts';

/** The members of a watch that the table reads. */
type TableWatch = Pick<KindWatch, 'resource' | 'namespace' | 'settled' | 'state'>;

/**
 * The watches of one cluster by kind and namespace, and which of them are not in sync. A cluster
 * that is limited to 500 namespaces has thousands of watches, and every pass asks.
 */
export class WatchTable<W extends TableWatch = KindWatch> {
  readonly #byKind = new Map<string, Map<string, readonly W[]>>();
  readonly #unsettled = new Set<W>();
  readonly #unsynced = new Set<W>();
  readonly #all = new Set<W>();
  #list: readonly W[] | undefined;
  #version = 0;

  /** Changes whenever a state may have changed. */
  get version(): number {
    return this.#version;
  }

  /** All watches. The list does not change. */
  all(): readonly W[] {
    this.#list ??= [...this.#all];
    return this.#list;
  }

  ofKind(kind: GroupKind): readonly W[] {
    return [...(this.#byKind.get(kindText(kind))?.values() ?? [])].flat();
  }

  isWatched(kind: GroupKind): boolean {
    return (this.#byKind.get(kindText(kind))?.size ?? 0) > 0;
  }

  /** The watches that see objects of a kind in a namespace (`''`: cluster-scoped ones). */
  covering(kind: GroupKind, namespace: string): readonly W[] {
    const places = this.#byKind.get(kindText(kind));
    if (places === undefined) return none;
    const [everywhere, here] = [places.get(allNamespaces), places.get(namespace)];
    return everywhere === undefined ? (here ?? none) : here === undefined ? everywhere : [...everywhere, ...here];
  }

  /** Every watch has listed its kind, or failed to, at least once. */
  areSettled(): boolean {
    return this.#unsettled.size === 0;
  }

  /** The watches whose state is not `synced`. */
  unsynced(): ReadonlySet<W> {
    return this.#unsynced;
  }

  add(watch: W): void {
    this.#all.add(watch);
    this.#list = undefined;
    this.#place(watch, (others) => [...others, watch]);
    this.noteState(watch);
  }

  delete(watch: W): void {
    this.#version += 1;
    this.#all.delete(watch);
    this.#list = undefined;
    this.#place(watch, (others) => others.filter((other) => other !== watch));
    this.#unsettled.delete(watch);
    this.#unsynced.delete(watch);
  }

  /** Must be called when the state of a watch may have changed. */
  noteState(watch: W): void {
    if (!this.#all.has(watch)) return;
    this.#version += 1;
    if (watch.settled()) this.#unsettled.delete(watch);
    else this.#unsettled.add(watch);
    if (watch.state().state === 'synced') this.#unsynced.delete(watch);
    else this.#unsynced.add(watch);
  }

  /** Must be called when a setting has changed that states depend on. */
  noteAllStates(): void {
    for (const watch of this.#all) this.noteState(watch);
  }

  #place({ resource, namespace = allNamespaces }: W, change: (watches: readonly W[]) => readonly W[]): void {
    const kind = kindText(resource);
    const places = this.#byKind.get(kind) ?? new Map<string, readonly W[]>();
    const watches = change(places.get(namespace) ?? none);
    if (watches.length > 0) places.set(namespace, watches);
    else places.delete(namespace);
    if (places.size > 0) this.#byKind.set(kind, places);
    else this.#byKind.delete(kind);
  }
}

const none: readonly never[] = [];
/** Not a possible name of a namespace. */
const allNamespaces = '*';

/** Several watches of a kind in one place are as good as the worst of them. */
export function trustIn(watches: readonly KindWatch[]): KindTrust | undefined {
  let found: KindTrust | undefined;
  for (const watch of watches) {
    const { generation, isTrusted } = watch.trust();
    found = { generation: (found?.generation ?? 0) + generation, isTrusted: isTrusted && found?.isTrusted !== false };
  }
  return found;
}
