import type { KubeObject } from '#model';
import type { ReflectorSink, ReflectorState } from '../reflector/informer-types.ts';

/** Keeps objects by name, and records every call. */
export class CacheSink implements ReflectorSink {
  objects = new Map<string, string>();
  readonly log: string[] = [];
  readonly states: ReflectorState[] = [];

  startList(): ReturnType<ReflectorSink['startList']> {
    const next = new Map<string, string>();
    this.log.push('list');
    return {
      add: (items) => {
        for (const item of items) next.set(item.metadata.name ?? '', item.metadata.resourceVersion ?? '');
      },
      remove: (item) => void next.delete(item.metadata.name ?? ''),
      commit: (resourceVersion) => {
        this.log.push(`commit ${resourceVersion}`);
        this.objects = next;
      },
      abandon: (untrue) => void this.log.push(untrue ? 'abandon as untrue' : 'abandon'),
    };
  }

  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', item: KubeObject): void {
    this.log.push(`${type} ${item.metadata.name ?? ''}`);
    if (type === 'DELETED') this.objects.delete(item.metadata.name ?? '');
    else this.objects.set(item.metadata.name ?? '', item.metadata.resourceVersion ?? '');
  }

  state(state: ReflectorState): void {
    this.states.push(state);
  }
}
