import { valueAt, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { UnsafeInput, UnsupportedSource } from '../../errors.ts';
import { textOf, wordsOf } from '../options.ts';
import { checkChartName } from '../../fetch/charts/chart-repositories.ts';
import { walk } from '../../fetch/files/tree.ts';
import type { DirectoryNode } from '../../fetch/files/tree.ts';
import type { PulledChart } from './downloaded-charts.ts';
import { copyIntoOverlay, isBelow, localPath, overlayName, stagedFolder } from './overlay-scope.ts';
import type { OverlayContext } from './overlay-scope.ts';

/** Replaces the repository of a chart: kustomize must not download it. */
const noRepository = 'https://charts.invalid';

/** The chart home of an overlay whose charts are not all in its repository. */
const downloadsFolder = '.driftless-charts';

/** The field names of a chart in `helmCharts`, and in the older `helmChartInflationGenerator`. */
export interface ChartFieldNames {
  readonly name: string;
  readonly version: string;
  readonly repo: string;
  readonly valuesFile: string;
  readonly refused: readonly string[];
}

export const chartFieldNames: ChartFieldNames = {
  name: 'name',
  version: 'version',
  repo: 'repo',
  valuesFile: 'valuesFile',
  refused: ['configHome'],
};

export const oldChartFieldNames: ChartFieldNames = {
  name: 'chartName',
  version: 'chartVersion',
  repo: 'chartRepoUrl',
  valuesFile: 'values',
  refused: ['helmHome', 'helmBin', 'extraArgs'],
};

/** Rewrites the charts of a kustomization, and its `helmGlobals` with the same chart home. */
export function inflatedCharts(place: OverlayContext, file: JsonObject): JsonObject {
  const charts = ownMember(file, 'helmCharts');
  if (!Array.isArray(charts)) return {};
  if (valueAt(file, 'helmGlobals', 'configHome') !== undefined) throw refusedField(place, 'helmGlobals.configHome');
  const home = valueAt(file, 'helmGlobals', 'chartHome');
  const written = typeof home === 'string' && home !== '' ? home : 'charts';
  const used = (charts as readonly Json[]).filter(isObject);
  // All charts of a kustomization have one home.
  const areMoved = used.some((chart) => !isInRepository(place, chartOf(place, chart, chartFieldNames), written));
  const inflated = (charts as readonly Json[]).map((chart) =>
    isObject(chart)
      ? inflatedChart(place, chart, { names: chartFieldNames, home: written, areMoved })
      : { chart, home: written },
  );
  const chartHome = inflated.find((one) => one.home !== written)?.home ?? written;
  return { helmCharts: inflated.map(({ chart }) => chart), helmGlobals: { chartHome } };
}

interface ChartPlace {
  readonly names: ChartFieldNames;
  /** The chart home as it is written. */
  readonly home: string;
  /** Charts of the repository are copied to the home of the downloaded ones. */
  readonly areMoved?: boolean;
}

/**
 * Checks a chart that kustomize inflates: it lies in the repository, or our own client downloads
 * it; and none of its texts may become another helm argument or split one in two.
 * @throws UnsupportedSource, UnsafeInput, SourcePathError
 */
export function inflatedChart(
  place: OverlayContext,
  chart: JsonObject,
  { names, home, areMoved }: ChartPlace,
): { readonly chart: JsonObject; readonly home: string } {
  const wanted = chartOf(place, chart, names);
  const chartHome = homeOf(place, home, wanted, areMoved ?? !isInRepository(place, wanted, home));
  const valuesFile = textOf(chart, names.valuesFile);
  const additional = wordsOf(chart, 'additionalValuesFiles')
    .filter((path) => path !== '')
    .map((path) => valuesPath(place, path));
  return {
    home: chartHome,
    chart: {
      ...chart,
      ...(wanted.repo === '' ? {} : { [names.repo]: noRepository }),
      ...(valuesFile === '' ? {} : { [names.valuesFile]: valuesPath(place, valuesFile) }),
      ...(additional.length === 0 ? {} : { additionalValuesFiles: additional }),
    },
  };
}

/** @throws UnsupportedSource, UnsafeInput */
function chartOf(place: OverlayContext, chart: JsonObject, names: ChartFieldNames): WantedChart {
  const [name, version, repo] = [textOf(chart, names.name), textOf(chart, names.version), textOf(chart, names.repo)];
  for (const field of names.refused) if (ownMember(chart, field) !== undefined) throw refusedField(place, field);
  for (const text of [name, version, textOf(chart, 'releaseName')]) checkArgument(place, text);
  checkNameTemplate(place, textOf(chart, 'nameTemplate'));
  const newest = ownMember(chart, 'devel') === true ? '>=0.0.0-0' : '*';
  return {
    name,
    repo,
    version: version === '' ? newest : version,
    folder: version !== '' && repo !== '' ? `${name}-${version}/${name}` : name,
  };
}

interface WantedChart extends PulledChart {
  /** Below the chart home, where kustomize looks for it. */
  readonly folder: string;
}

function isInRepository(place: OverlayContext, { folder }: WantedChart, home: string): boolean {
  return localPath(place, `${home}/${folder}`).found?.node.kind === 'directory';
}

/** The chart's home, relative to the overlay. */
function homeOf(place: OverlayContext, home: string, wanted: WantedChart, isMoved: boolean): string {
  const { scope, here } = place;
  const { folder, name } = wanted;
  const { found } = localPath(place, `${home}/${folder}`);
  const target = `${stagedFolder(place)}/${downloadsFolder}/${folder}`;
  if (found?.node.kind !== 'directory') {
    if (wanted.repo === '' || found !== undefined)
      throw new UnsupportedSource(`${overlayName(here)} has a Helm chart that is not in the repository ("${name}")`);
    checkChartName(name);
    scope.charts.want(wanted, target, overlayName(here));
    return downloadsFolder;
  }
  if (isMoved) {
    copyFolder(place, found.node, target);
    return downloadsFolder;
  }
  if (!scope.isUnrestricted || isBelow(here, found.at)) return home;
  const depth = folder.split('/').length;
  return copyIntoOverlay(place, found.at, found.node).split('/').slice(0, -depth).join('/');
}

function copyFolder({ scope }: OverlayContext, folder: DirectoryNode, target: string): void {
  const { snapshot, replaced } = scope;
  for (const { path, node } of walk(folder, true))
    if (node.kind === 'file') replaced.copyTo(`${target}/${path}`, { snapshot, node });
}

/** kustomize passes the path to helm with the folder in front, and helm splits it at commas. */
function valuesPath(place: OverlayContext, path: string): string {
  const { text } = localPath(place, path);
  const whole = [...place.here, text].join('/');
  if (!/[,"\r\n]/.test(whole)) return text;
  throw new UnsafeInput(
    `${overlayName(place.here)}: the path of the values file ${JSON.stringify(whole)} is refused: it has a comma, a quote or a line break`,
  );
}

function checkArgument({ here }: OverlayContext, text: string): void {
  const isSafe = !text.startsWith('-') && !/[,"\r\n\0]/.test(text) && !text.split('/').includes('..');
  if (isSafe && !text.startsWith('/')) return;
  throw new UnsafeInput(`${overlayName(here)}: ${JSON.stringify(text)} is refused for a Helm chart`);
}

/** helm renders it as a template, whose functions read the environment of the process. */
function checkNameTemplate(place: OverlayContext, text: string): void {
  if (text.includes('{{'))
    throw new UnsafeInput(
      `${overlayName(place.here)}: the nameTemplate of a Helm chart is refused: it is a template, write the name`,
    );
  checkArgument(place, text);
}

function refusedField({ here }: OverlayContext, field: string): UnsupportedSource {
  return new UnsupportedSource(`${overlayName(here)} has the field "${field}" for a Helm chart`);
}
