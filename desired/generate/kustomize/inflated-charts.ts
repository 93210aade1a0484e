import { valueAt, isObject, ownMember } from '#base';
import type { Json, JsonObject } from '#base';
import { UnsafeInput, UnsupportedSource } from '../../errors.ts';
import { textOf, wordsOf } from '../options.ts';
import { copyIntoOverlay, isBelow, localPath, overlayName } from './overlay-scope.ts';
import type { OverlayContext } from './overlay-scope.ts';

/**
 * Replaces the repository of a chart: charts must lie in the source's repository, and kustomize
 * must not download them.
 */
const noRepository = 'https://charts.invalid';

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
  const inflated = (charts as readonly Json[]).map((chart) =>
    isObject(chart) ? inflatedChart(place, chart, chartFieldNames, written) : { chart, home: written },
  );
  const chartHome = inflated.find((one) => one.home !== written)?.home ?? written;
  return { helmCharts: inflated.map(({ chart }) => chart), helmGlobals: { chartHome } };
}

/**
 * Checks a chart that kustomize inflates: it must lie in the repository, and none of its texts may
 * become another helm argument or split one in two.
 * @throws UnsupportedSource, UnsafeInput, SourcePathError
 */
export function inflatedChart(
  place: OverlayContext,
  chart: JsonObject,
  names: ChartFieldNames,
  home: string,
): { readonly chart: JsonObject; readonly home: string } {
  const [name, version, repo] = [textOf(chart, names.name), textOf(chart, names.version), textOf(chart, names.repo)];
  for (const field of names.refused) if (ownMember(chart, field) !== undefined) throw refusedField(place, field);
  for (const text of [name, version, textOf(chart, 'releaseName')]) checkArgument(place, text);
  const chartHome = homeOf(place, home, version !== '' && repo !== '' ? `${name}-${version}/${name}` : name, name);
  const valuesFile = textOf(chart, names.valuesFile);
  const additional = wordsOf(chart, 'additionalValuesFiles').map((path) => valuesPath(place, path));
  return {
    home: chartHome,
    chart: {
      ...chart,
      ...(repo === '' ? {} : { [names.repo]: noRepository }),
      ...(valuesFile === '' ? {} : { [names.valuesFile]: valuesPath(place, valuesFile) }),
      ...(additional.length === 0 ? {} : { additionalValuesFiles: additional }),
    },
  };
}

/** The chart's home, relative to the overlay. */
function homeOf(place: OverlayContext, home: string, folder: string, name: string): string {
  const { scope, here } = place;
  const { found } = localPath(place, `${home}/${folder}`);
  if (found?.node.kind !== 'directory')
    throw new UnsupportedSource(`${overlayName(here)} has a Helm chart that is not in the repository ("${name}")`);
  if (!scope.isUnrestricted || isBelow(here, found.at)) return home;
  const depth = folder.split('/').length;
  return copyIntoOverlay(place, found.at, found.node).split('/').slice(0, -depth).join('/');
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

function refusedField({ here }: OverlayContext, field: string): UnsupportedSource {
  return new UnsupportedSource(`${overlayName(here)} has the field "${field}" for a Helm chart`);
}
