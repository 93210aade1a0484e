import { posix } from 'node:path';
import { splitUserInfo } from '#base';
import { branchFolder } from '#desired';
import { isRefused, projectOf, readAddress } from '#model';
import type { Application, AppProject } from '#model';
import { isSourcePermitted } from '#policy';
import { plainUrl } from './hydrator-spec.ts';
import type { HydratedApplication, HydrationTarget } from './hydrator-spec.ts';

/** The project of an Application, or why it cannot be used. */
type ProjectLookup = (app: Application) => AppProject | { readonly error: string };

/**
 * Checks the Applications of a group. Those with an error are left out, and the others go on, so
 * that an Application without permission blocks no other (Argo CD: validateApplications, where one
 * error blocks all). Of two that write to one path, in any group, the older one goes on. Stricter
 * than Argo CD: refuses paths out of the repository, and a branch that is its own dry source.
 * @param all the Applications that hydrate to the branch of the group.
 * @returns the errors by Application.
 */
export function validateGroup(
  group: readonly HydratedApplication[],
  all: readonly HydratedApplication[],
  projectFor: ProjectLookup,
): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  const users = oldestUsers(all.filter((one) => faultOf(one, projectFor) === undefined));
  for (const one of group) {
    const error = faultOf(one, projectFor) ?? sharedTarget(one, users);
    if (error !== undefined) errors.set(one.key, error);
  }
  return errors;
}

/** Whether its project permits both repositories, and its spec is valid. */
export function mayHydrate(one: HydratedApplication, projectFor: ProjectLookup): boolean {
  return faultOf(one, projectFor) === undefined;
}

function faultOf({ app, dry, target }: HydratedApplication, projectFor: ProjectLookup): string | undefined {
  const project = projectFor(app);
  if ('error' in project) return `failed to get project ${JSON.stringify(projectOf(app))}: ${project.error}`;
  const name = project.metadata.name ?? projectOf(app);
  const denied = repositoryDenied(project, dry.repoURL, name);
  if (denied !== undefined) return `application repo ${denied}`;
  const misplaced = pathFault(target);
  if (misplaced !== undefined) return misplaced;
  const targetDenied = repositoryDenied(project, target.repoURL, name);
  if (targetDenied !== undefined) return `destination repo ${targetDenied}`;
  if (plainUrl(dry.repoURL) !== plainUrl(target.repoURL)) return undefined;
  if (branchOf(dry.targetRevision ?? '') !== target.branch) return undefined;
  return `app is configured to hydrate to its own dry source (branch ${JSON.stringify(target.branch)}): hydrate to another branch`;
}

/** Only Git repositories are hydrated. */
function repositoryDenied(project: AppProject, url: string, name: string): string | undefined {
  const address = readAddress(url, 'git');
  if (isRefused(address)) return `${JSON.stringify(shownUrl(url))} is refused: ${address.refused}`;
  if (isSourcePermitted(project, address)) return undefined;
  return `${shownUrl(url)} is not permitted in project '${name}'`;
}

function pathFault({ branch, path }: HydrationTarget): string | undefined {
  if (['.', './', '/'].includes(posix.normalize(path)))
    return `app is configured to hydrate to the repository root (branch ${JSON.stringify(branch)}, path ${JSON.stringify(path)}) which is not allowed`;
  if (branchFolder(path) !== undefined) return undefined;
  return `app is configured to hydrate to the path ${JSON.stringify(path)}, which is not allowed: use a relative path without "..", ".git", backslashes and control characters`;
}

/** The error of the younger of two Applications. */
function sharedTarget(one: HydratedApplication, oldest: ReadonlyMap<string, HydratedApplication>): string | undefined {
  const { target, key } = one;
  const other = oldest.get(placeOf(target));
  if (other === undefined || other.key === key) return undefined;
  const same = `repo=${shownUrl(target.repoURL)}, path=${target.path}`;
  return `app ${other.key} hydrator uses the same destination: ${same}; it is older and goes on, app ${key} waits`;
}

/** The Application that may write to each path: the oldest, or of equal age the first by name. */
function oldestUsers(all: readonly HydratedApplication[]): ReadonlyMap<string, HydratedApplication> {
  const oldest = new Map<string, HydratedApplication>();
  for (const one of all) {
    const place = placeOf(one.target);
    const known = oldest.get(place);
    if (known === undefined || isOlder(one, known)) oldest.set(place, one);
  }
  return oldest;
}

function isOlder(a: HydratedApplication, b: HydratedApplication): boolean {
  const [first, second] = [createdAt(a), createdAt(b)];
  return first === second ? a.key < b.key : first < second;
}

/** RFC 3339 in UTC, as the API server sets it: it sorts as text. */
function createdAt({ app }: HydratedApplication): string {
  return app.metadata.creationTimestamp ?? '';
}

function placeOf({ repoURL, branch, path }: HydrationTarget): string {
  return JSON.stringify([plainUrl(repoURL), branch, branchFolder(path) ?? path]);
}

function branchOf(revision: string): string {
  return revision.replace(/^refs\/heads\//, '');
}

function shownUrl(url: string): string {
  return splitUserInfo(url).url;
}
