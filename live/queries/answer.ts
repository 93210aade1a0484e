/** Behaves like a remote call: errors reject, and an aborted caller gets no answer. */
export function answer<T>(signal: AbortSignal, compute: () => T): Promise<T> {
  return new Promise((resolve) => {
    signal.throwIfAborted();
    resolve(compute());
  });
}
