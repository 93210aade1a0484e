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
 * Checks the Applications of a group; one error blocks all of them (Argo CD: validateApplications).
 * Stricter than there: paths out of the repository, a branch that is its own dry source, and
 * Applications of other groups that write to one path are refused too.
 * @param all the Applications that hydrate anywhere.
 * @returns the errors by Application; empty if the group may be hydrated.
 */
export function validateGroup(
  group: readonly HydratedApplication[],
  all: readonly HydratedApplication[],
  projectFor: ProjectLookup,
): ReadonlyMap<string, string> {
  const errors = new Map<string, string>();
  const users = usersOfPlaces(all);
  for (const one of group) {
    const error = faultOf(one, projectFor) ?? sharedTarget(one, users);
    if (error !== undefined) errors.set(one.key, error);
  }
  return errors;
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

/** Both Applications get the error, each with the name of the other. */
function sharedTarget(one: HydratedApplication, users: ReadonlyMap<string, readonly string[]>): string | undefined {
  const other = users.get(placeOf(one.target))?.find((key) => key !== one.key);
  if (other === undefined) return undefined;
  return `app ${other} hydrator uses the same destination: repo=${shownUrl(one.target.repoURL)}, path=${one.target.path}`;
}

/** The Applications that write to each path: the first two are enough to name another one. */
function usersOfPlaces(all: readonly HydratedApplication[]): ReadonlyMap<string, readonly string[]> {
  const users = new Map<string, string[]>();
  for (const { key, target } of all) {
    const place = placeOf(target);
    users.set(place, [...(users.get(place) ?? []), key].sort().slice(0, 2));
  }
  return users;
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
