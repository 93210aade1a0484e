import { stringifyJson } from '#base';
import type { Json } from '#base';
import { SizeLimitExceeded } from '../errors.ts';
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

/** Characters that variables may insert into the options of one source. */
const maxInsertedChars = 4 * 1024 * 1024;

/** Replaces the variables of one text. */
export type Substitute = (text: string) => string;

/**
 * Replaces `$NAME` and `${NAME}` like Go's os.Expand, and `$$` by a dollar sign (Argo CD:
 * Env.Envsubst). An unknown name becomes empty. A dollar sign before anything that cannot be a name
 * stays. All texts share one limit: a long path that is named a thousand times would fill the
 * memory.
 * @throws SizeLimitExceeded
 */
export function substituteIn(variables: Readonly<Record<string, string>>): Substitute {
  let left = maxInsertedChars;
  const valueOf = (key: string): string => {
    const value = Object.hasOwn(variables, key) ? (variables[key] ?? '') : '';
    left -= value.length;
    if (left < 0)
      throw new SizeLimitExceeded(
        `the variables in the options of the source expand to more than ${maxInsertedChars} characters`,
      );
    return value;
  };
  return (text) =>
    text.replaceAll(
      /\$(?:\$|\{([^}]*)\}|([*#@!?0-9-])|([A-Za-z_][A-Za-z0-9_]*))/g,
      (whole, braced: string | undefined, special: string | undefined, name: string | undefined) => {
        if (whole === '$$') return '$';
        return special === undefined ? valueOf(braced ?? name ?? '') : '';
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
