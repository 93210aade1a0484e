import { appKey, parseResourceKey } from '#model';
import type { StatusDisagreement } from '#controller';
import { counted, paint, table } from '../process/output.ts';
import type { OutputColor, CommandOutput } from '../process/output.ts';
import { exitCodeOf } from './report.ts';
import type { ApplicationReport, PreflightReport } from './report.ts';
import type { UsedFeature } from './features.ts';

const colors: Readonly<Record<ApplicationReport['state'], OutputColor>> = {
  same: 'green',
  differs: 'red',
  notCompared: 'yellow',
  leftAlone: 'dim',
};

/**
 * The report as text: a row per Application, details of differences, findings that concern
 * everything, and a summary with the next step.
 */
export function reportLines(report: PreflightReport, output: CommandOutput): readonly string[] {
  const heading = (text: string): string => paint(output, 'bold', text);
  const block = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', heading(title), ...lines.map((line) => `  ${line}`)];
  const details = report.applications.filter(({ state }) => state === 'differs' || state === 'notCompared');
  return [
    ...applicationTable(report, output),
    ...details.flatMap((app) => block(keyOf(app), detailLines(app))),
    ...block(`installation in namespace ${report.namespace}`, report.features.map(featureLine)),
    ...block(
      'clusters',
      report.clusters.flatMap(({ name, server, message, hint, applications }) => [
        `${name === '' ? server : `${name} (${server})`}: ${message}`,
        `  ${counted(applications, 'Application')}; ${hint}`,
      ]),
    ),
    ...block(
      'repositories',
      report.repositories.flatMap(({ url, message, hint, applications }) => [
        `${url}: ${message}`,
        `  ${counted(applications, 'Application')}; ${hint}`,
      ]),
    ),
    ...block(
      'programs',
      report.tools.map((tool) => {
        const where = tool.missing ? 'MISSING on this machine' : (tool.version ?? tool.path ?? '');
        return `${tool.tool}: ${where} (needed by ${tool.neededBy.join('; ')})`;
      }),
    ),
    ...block('notes', [...report.notes]),
    '',
    summaryLine(report, output),
  ];
}

function applicationTable({ applications }: PreflightReport, output: CommandOutput): readonly string[] {
  if (applications.length === 0) return ['no Applications'];
  const rows = applications.map((app) => [
    ...[keyOf(app), statusText(app.theirs), app.ours === null ? '-' : statusText(app.ours)],
    ...(app.ours === null ? ['-', '-'] : [String(app.differences.length), String(app.writes.length)]),
    String(app.features.filter(({ severity }) => severity === 'refused').length),
    wordOf[app.state],
  ]);
  const header = ['application', 'argo cd', 'driftless', 'differences', 'writes', 'refused', 'result'];
  return table(header, rows).map((line, i) => {
    const app = applications[i - 1];
    return app === undefined ? line : paint(output, colors[app.state], line);
  });
}

const wordOf: Readonly<Record<ApplicationReport['state'], string>> = {
  same: 'same',
  differs: 'differs',
  notCompared: 'not compared',
  leftAlone: 'left alone',
};

function statusText({ sync, health }: ApplicationReport['theirs']): string {
  return `${sync === '' ? '-' : sync}/${health === '' ? '-' : health}`;
}

/** Lines of detail per Application; JSON has all of them. */
const maxDetailLines = 20;

function detailLines(app: ApplicationReport): readonly string[] {
  if (app.ours === null) return [`not compared: ${app.why ?? ''}`, ...app.features.map(featureLine)];
  const own = app.conditions.filter(({ type }) => type.endsWith('Error'));
  const told = new Set(app.differences.filter(({ field }) => field === 'condition').map(({ ours }) => ours));
  return [
    ...(app.why === null ? [] : [`not compared: ${app.why}`]),
    ...truncateLines(app.differences.map(differenceLine)),
    ...own
      .map(({ type, message }) => `${type}: ${message}`)
      .filter((line) => !told.has(line))
      .map((line) => `Driftless says ${line}`),
    ...truncateLines(
      app.writes.map(({ what, target, reason }) => `first-day write: ${what} ${shownTarget(target)}: ${reason}`),
    ),
    ...truncateLines(
      (app.dropped ?? []).map(
        ({ resource, paths }) =>
          `dropped from Git earlier, removed by the first sync: ${shownTarget(resource)}: ${paths.join(', ')}`,
      ),
    ),
    ...app.features.map(featureLine),
  ];
}

function truncateLines(lines: readonly string[]): readonly string[] {
  if (lines.length <= maxDetailLines) return lines;
  return [...lines.slice(0, maxDetailLines), `… and ${lines.length - maxDetailLines} more: -o json has all`];
}

function differenceLine({ field, resource, theirs, ours, paths }: StatusDisagreement): string {
  const what = resource === undefined ? field : `${shownTarget(resource)}, ${field.replace('resource-', '')}`;
  const where = paths.length === 0 ? '' : `, at ${paths.join(', ')}`;
  const late = field === 'revision' ? ' (a new commit that Argo CD has not seen yet? then run this again)' : '';
  return `${what}: Argo CD says ${orNothing(theirs)}, Driftless ${orNothing(ours)}${where}${late}`;
}

function orNothing(text: string): string {
  return text === '' ? 'nothing' : text;
}

/** `apps/Deployment team/web` for a resource key; an Application's key is kept. */
function shownTarget(target: string): string {
  if (target.split('/').length < 4) return target;
  const { group, kind, namespace, name } = parseResourceKey(target as Parameters<typeof parseResourceKey>[0]);
  return `${group === '' ? kind : `${group}/${kind}`} ${namespace === '' ? name : `${namespace}/${name}`}`;
}

function featureLine({ severity, feature, where, row }: UsedFeature): string {
  return `${severity}: ${feature} [${where}; compatibility: ${row}]`;
}

function summaryLine(report: PreflightReport, output: CommandOutput): string {
  const { applications, same, differ, notCompared, leftAlone, writes, refused, differing, missingTools } =
    report.summary;
  const { droppedObjects = 0 } = report.summary;
  const total = counted(applications, 'Application');
  if (exitCodeOf(report) === 0)
    return paint(
      output,
      'green',
      `${total}: nothing differs and nothing would be written. Next: driftless run --shadow beside Argo CD (docs/shadow.md).`,
    );
  const parts = [
    `${same} the same`,
    ...(differ > 0 ? [`${differ} differ`] : []),
    ...(notCompared > 0 ? [`${notCompared} not compared`] : []),
    ...(leftAlone > 0 ? [`${leftAlone} left alone`] : []),
    counted(writes, 'first-day write'),
    ...(droppedObjects > 0 ? [`${counted(droppedObjects, 'object')} with fields that Git dropped earlier`] : []),
    ...(refused > 0 ? [`${counted(refused, 'use')} of features that are refused`] : []),
    ...(differing > 0 ? [`${differing} that work differently`] : []),
    ...(missingTools > 0 ? [counted(missingTools, 'missing program')] : []),
  ];
  const advice =
    exitCodeOf(report) === 2
      ? 'Nothing could be compared: see clusters and repositories above.'
      : 'Do not switch before each of these is understood: docs/compatibility.md has the rows, docs/migrate-from-argocd.md what to do.';
  return paint(output, 'yellow', `${total}: ${parts.join(', ')}. ${advice}`);
}

function keyOf({ namespace, name }: ApplicationReport): string {
  return appKey(namespace, name);
}
