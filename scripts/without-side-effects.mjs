/** The modules of @kubernetes/client-node. */
export const clientNode = /[\\/]@kubernetes[\\/]client-node[\\/]/;

/**
 * A plugin of esbuild: the modules of a library have no effects when they are loaded, although its
 * package does not declare it, so that what is not used is left out of a bundle.
 */
export function withoutSideEffects(library) {
  return {
    name: 'without-side-effects',
    setup({ onResolve, resolve }) {
      onResolve({ filter: /.*/ }, async ({ path, pluginData, ...from }) => {
        if (pluginData === 'resolved' || from.kind === 'entry-point') return undefined;
        const found = await resolve(path, { ...from, pluginData: 'resolved' });
        return library.test(found.path) ? { ...found, sideEffects: false } : found;
      });
    },
  };
}
