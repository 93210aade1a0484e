import type { ClusterWriter } from './types.ts';

/** The writer with some of its methods replaced. */
export function changedWriter(
  writer: ClusterWriter,
  methods: Partial<Omit<ClusterWriter, 'discovery'>>,
): ClusterWriter {
  return {
    get discovery() {
      return writer.discovery;
    },
    get: (object, signal) => writer.get(object, signal),
    apply: (target, live, how, signal) => writer.apply(target, live, how, signal),
    create: (object, signal) => writer.create(object, signal),
    delete: (live, propagation, signal) => writer.delete(live, propagation, signal),
    patchMetadata: (live, patch, signal) => writer.patchMetadata(live, patch, signal),
    denied: (object, namespaced) => writer.denied(object, namespaced),
    ...methods,
  };
}
