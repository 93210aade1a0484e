import { splitUserInfo, valueAt } from '#base';
import type { JsonObject } from '#base';
import { appKeyOf, hydratorOf, isRefused, looseNames, readAddress } from '#model';
import type { AppKey, Application, ApplicationSource } from '#model';

/** The destination of the hydrated manifests of an Application. */
export interface HydrationTarget {
  readonly repoURL: string;
  readonly branch: string;
  readonly path: string;
}

/** The parts of `spec.sourceHydrator`. */
export interface HydrationSpec {
  /** As in the Application, for the status. */
  readonly spec: JsonObject;
  readonly dry: ApplicationSource;
  /** The branch that the Application syncs from. */
  readonly syncBranch: string;
  readonly target: HydrationTarget;
}

/** An Application with a source hydrator. */
export interface HydratedApplication extends HydrationSpec {
  readonly app: Application;
  readonly key: AppKey;
}

/** Undefined: the Application has no source hydrator. */
export function hydratedApplication(app: Application): HydratedApplication | undefined {
  const spec = hydratorOf(app.spec);
  return spec === undefined ? undefined : { app, key: appKeyOf(app), ...hydrationSpec(spec) };
}

/** Argo CD: SourceHydrator.GetDrySource, GetHydrateToSource. */
function hydrationSpec(spec: JsonObject): HydrationSpec {
  const text = (...path: readonly string[]): string => {
    const value = valueAt(spec, ...path);
    return typeof value === 'string' ? value : '';
  };
  const dryUrl = text('drySource', 'repoURL');
  const syncBranch = text('syncSource', 'targetBranch');
  const dry = valueAt(spec, 'drySource');
  return {
    spec,
    dry: { ...(dry as JsonObject | undefined), repoURL: dryUrl },
    syncBranch,
    target: {
      repoURL: text('syncSource', 'repoURL') || dryUrl,
      branch: text('hydrateTo', 'targetBranch') || syncBranch,
      path: text('syncSource', 'path'),
    },
  };
}

/** The key of the Applications that are hydrated by one commit. */
export type HydrationKey = string;

/** Argo CD: getHydrationQueueKey. Without the credentials of URLs: keys are shown. */
export function hydrationKeyOf({ dry, target }: HydrationSpec): HydrationKey {
  return JSON.stringify([plainUrl(dry.repoURL), dry.targetRevision ?? '', plainUrl(target.repoURL), target.branch]);
}

/**
 * The form in which all spellings of one repository are equal, without user and password. An
 * address that cannot be read equals only itself; such an Application is refused.
 */
export function plainUrl(url: string): string {
  const address = readAddress(url, 'git');
  return isRefused(address) ? `refused ${splitUserInfo(url).url}` : (looseNames(address)[0] ?? address.text);
}
