import { stringifyJson } from '#base';
import type { Json } from '#base';
import type { RenderJob } from './plan.ts';

/** The build environment of a source (Argo CD: newEnv). */
export function buildEnvironment({ request, source, snapshot }: RenderJob): Readonly<Record<string, string>> {
  const { revision } = snapshot;
  return {
    ARGOCD_APP_NAME: request.appName,
    ARGOCD_APP_NAMESPACE: request.namespace,
    ARGOCD_APP_PROJECT_NAME: request.project,
    ARGOCD_APP_REVISION: revision,
    ARGOCD_APP_REVISION_SHORT: revision.slice(0, 7),
    ARGOCD_APP_REVISION_SHORT_8: revision.slice(0, 8),
    ARGOCD_APP_SOURCE_REPO_URL: source.repoURL,
    ARGOCD_APP_SOURCE_PATH: source.path ?? '',
    ARGOCD_APP_SOURCE_TARGET_REVISION: source.targetRevision ?? '',
  };
}

/**
 * Replaces `$NAME` and `${NAME}` like Go's os.Expand, and `$$` by a dollar sign (Argo CD:
 * Env.Envsubst). An unknown name becomes empty. A dollar sign before anything that cannot be a name
 * stays.
 */
export function substitute(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replaceAll(
    /\$(?:\$|\{([^}]*)\}|([*#@!?0-9-])|([A-Za-z_][A-Za-z0-9_]*))/g,
    (whole, braced: string | undefined, special: string | undefined, name: string | undefined) => {
      if (whole === '$$') return '$';
      if (special !== undefined) return '';
      const key = braced ?? name ?? '';
      return Object.hasOwn(variables, key) ? (variables[key] ?? '') : '';
    },
  );
}

/**
 * The part of the build environment that may affect the result: null if no option contains a `$`. A
 * new commit alone then renders nothing again.
 */
export function environmentKey(job: RenderJob, options: Json | undefined): Readonly<Record<string, string>> | null {
  return stringifyJson(options ?? null).includes('$') ? buildEnvironment(job) : null;
}
