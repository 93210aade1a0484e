/** The finalizer that deletes the resources of an Application with it. */
export const cascade = 'resources-finalizer.argocd.argoproj.io';

/** Annotations of a hook of these types. */
export const hook = (types: string): Record<string, string> => ({ 'argocd.argoproj.io/hook': types });

/** Annotations of an object of this wave. */
export const wave = (n: number): Record<string, string> => ({ 'argocd.argoproj.io/sync-wave': String(n) });
