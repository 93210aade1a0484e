import { compileGlob, isObject } from '#base';
import type { AppProject } from '#model';
import { maxScheduleLength, nextActivation, parseCron } from './cron.ts';
import { repositoryPattern } from './git-url.ts';
import { entriesOrUnreadable, stringOrUndefined } from './readable.ts';
import { isReadableWindow, maxDurationLength, meaninglessMembers } from './windows.ts';

/**
 * Why Argo CD reads a rule differently:
 * - `denyGlob`: a deny entry that is no glob denies everything; in Argo CD it allows everything.
 * - `denyAddress`: a deny entry that no address matches, because it has no single reading.
 * - `deniedName`: a denied cluster name denies every namespace, whatever its own entry names.
 * - `meaningless`: an unknown kind of a window, or a pattern that is no glob: no sync; in Argo CD
 *   such a window has no effect.
 * - `neverOpen`: an allow window without any activation.
 * - `tooLong`: a schedule or duration above our limit.
 * - `unreadable`: a type that the schema excludes.
 */
export type ProjectFaultReason =
  'denyGlob' | 'denyAddress' | 'deniedName' | 'meaningless' | 'neverOpen' | 'tooLong' | 'unreadable';

export interface ProjectFault {
  readonly reason: ProjectFaultReason;
  /** The field: `spec.destinations[1].name`. */
  readonly field: string;
}

/** Rules of an AppProject that permit or deny something else than in Argo CD. */
export function projectFaults(project: AppProject): readonly ProjectFault[] {
  return [
    ...unreadableFields(project.spec as unknown as Readonly<Record<string, unknown>>),
    ...repositoryFaults(project),
    ...destinationFaults(project),
    ...windowFaults(project),
  ];
}

const objectLists: Readonly<Record<string, readonly string[]>> = {
  destinations: ['name', 'server', 'namespace'],
  clusterResourceWhitelist: ['group', 'kind', 'name'],
  clusterResourceBlacklist: ['group', 'kind', 'name'],
  namespaceResourceWhitelist: ['group', 'kind'],
  namespaceResourceBlacklist: ['group', 'kind'],
  destinationServiceAccounts: ['server', 'namespace', 'defaultServiceAccount'],
};

function unreadableFields(spec: Readonly<Record<string, unknown>>): readonly ProjectFault[] {
  const faults: ProjectFault[] = [];
  const check = (list: string, isReadable: (entry: unknown) => boolean): void => {
    if (!entriesOrUnreadable(spec[list]).every(isReadable))
      faults.push({ reason: 'unreadable', field: `spec.${list}` });
  };
  for (const list of ['sourceRepos', 'sourceNamespaces'])
    check(list, (entry) => entry === null || typeof entry === 'string');
  for (const [list, members] of Object.entries(objectLists))
    check(list, (entry) => isObject(entry) && members.every((name) => stringOrUndefined(entry[name]) !== undefined));
  check('syncWindows', isReadableWindow);
  const onlyScoped = spec['permitOnlyProjectScopedClusters'] ?? false;
  if (typeof onlyScoped !== 'boolean')
    faults.push({ reason: 'unreadable', field: 'spec.permitOnlyProjectScopedClusters' });
  return faults;
}

function repositoryFaults({ spec }: AppProject): readonly ProjectFault[] {
  return entriesOrUnreadable(spec.sourceRepos).flatMap((entry, i): ProjectFault[] => {
    const pattern = deniedPattern(entry);
    if (pattern === undefined) return [];
    const field = `spec.sourceRepos[${i}]`;
    if (repositoryPattern(pattern, '/').matchesLoose === undefined) return [{ reason: 'denyGlob', field }];
    return isUnmatchable(pattern) ? [{ reason: 'denyAddress', field }] : [];
  });
}

/** Whether the pattern has what every address with it is refused for. */
function isUnmatchable(pattern: string): boolean {
  const hasControls = /[\u0000-\u001f\u007f]|\\[^*?[\]{}\\]/.test(pattern.trim());
  return hasControls || /\/\.{1,2}(?:\/|$)|[^:/]\/\/|%(?:2e|2f|5c|25)|#/i.test(pattern);
}

function destinationFaults({ spec }: AppProject): readonly ProjectFault[] {
  return entriesOrUnreadable(spec.destinations).flatMap((item, i): ProjectFault[] => {
    if (!isObject(item)) return [];
    const field = `spec.destinations[${i}]`;
    const faults = ['name', 'server', 'namespace'].flatMap((member): ProjectFault[] => {
      const pattern = deniedPattern(item[member]);
      const isFault = pattern !== undefined && compileGlob(pattern) === undefined;
      return isFault ? [{ reason: 'denyGlob', field: `${field}.${member}` }] : [];
    });
    const namespaces = stringOrUndefined(item['namespace']);
    const isPartial = deniedPattern(item['name']) !== undefined && !/^\*+$/.test(namespaces ?? '*');
    return isPartial ? [...faults, { reason: 'deniedName', field: `${field}.name` }] : faults;
  });
}

function windowFaults({ spec }: AppProject): readonly ProjectFault[] {
  return entriesOrUnreadable(spec.syncWindows).flatMap((window, i): ProjectFault[] => {
    if (!isReadableWindow(window)) return [];
    const [schedule, duration] = [window.schedule ?? '', window.duration ?? ''];
    const field = `spec.syncWindows[${i}]`;
    const meaningless = meaninglessMembers(window);
    if (meaningless.length > 0)
      return meaningless.map((member) => ({ reason: 'meaningless', field: `${field}.${member}` }));
    if (schedule.length > maxScheduleLength) return [{ reason: 'tooLong', field: `${field}.schedule` }];
    if (duration.length > maxDurationLength) return [{ reason: 'tooLong', field: `${field}.duration` }];
    return window.kind === 'allow' && neverFires(schedule) ? [{ reason: 'neverOpen', field: `${field}.schedule` }] : [];
  });
}

function neverFires(text: string): boolean {
  const schedule = parseCron(text);
  return !('error' in schedule) && nextActivation(schedule, 0) === undefined;
}

/** The pattern that an entry denies; undefined: it denies nothing. */
function deniedPattern(entry: unknown): string | undefined {
  return typeof entry === 'string' && entry.startsWith('!') ? entry.slice(1) : undefined;
}
