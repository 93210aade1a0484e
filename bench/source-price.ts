import { join } from 'node:path';
import { mapLimit, systemRandom } from '#base';
import { createInProcessRenderer, programsFrom, startCommandHelper } from '#desired';
import type { RenderRequest } from '#desired';
import { silentLogger } from '#telemetry';
import type { BenchContext, BenchMetrics } from './harness.ts';
import { costOf } from './process-tree.ts';
import {
  chartFiles,
  createBenchSource,
  GitRepository,
  neverAborted,
  overlayFiles,
  renderPath,
  toolLookup,
} from './source-fixture.ts';

/** A program, and small sources of its type. */
export interface ProgramCost {
  readonly program: 'helm' | 'kustomize';
  /** The name of the sources in metrics. */
  readonly sources: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly files: (path: string, name: string) => Readonly<Record<string, string>>;
}

export const helmCost: ProgramCost = {
  program: 'helm',
  sources: 'charts',
  command: 'helm_template',
  args: ['template', 'app', '.', '--namespace', 'default', '--include-crds'],
  files: chartFiles,
};
export const kustomizeCost: ProgramCost = {
  program: 'kustomize',
  sources: 'overlays',
  command: 'kustomize_build',
  args: ['build', '.'],
  files: overlayFiles,
};

/**
 * Measured layers. Each includes the one before it: `plain` runs the program in the checkout;
 * `staged` adds our arguments, environment and staging folder; `walled` the renderer's process and
 * wall; `source` is the whole source, read from a mirror that has the commit.
 */
const layers = ['plain', 'staged', 'walled', 'source'] as const;
type Layer = (typeof layers)[number];
type LayerRuns = Readonly<Record<Layer, (index: number) => Promise<unknown>>>;

interface LayerCost {
  readonly wallMs: number[];
  cpuSeconds: number;
}

/**
 * The price of a changed source beside its plain program: one at a time, and twenty at once.
 * The layers alternate, so that other load on the machine meets all of them.
 */
export async function measurePrice(root: string, cost: ProgramCost, context: BenchContext): Promise<BenchMetrics> {
  const binary = toolLookup()(cost.program);
  if (binary === undefined) return {};
  const size = context.smoke ? 2 : 40;
  const rounds = context.smoke ? 1 : 5;
  const paths = Array.from({ length: size }, (_, i) => `${cost.sources}/${i}`);
  const repository = new GitRepository(join(root, 'repo'));
  const first = `${cost.sources}/first`;
  repository.commit(
    Object.assign({}, ...[first, ...paths].map((path, i) => cost.files(path, `app-${i}`))) as Record<string, string>,
  );
  const requests = await recordedRequests(join(root, 'recorded'), repository, paths);
  const metrics: Record<string, number> = {};
  for (const [mode, limit] of [
    ['alone', 1],
    ['20_at_once', 20],
  ] as const) {
    const costs: Record<Layer, LayerCost> = newCosts();
    // The first round warms up.
    for (let round = 0; round <= rounds; round += 1) {
      const runs = await layerRuns({
        root: join(root, `${mode}-${round}`),
        cost,
        binary,
        repository,
        requests,
        paths,
        first,
      });
      const into = round === 0 ? newCosts() : costs;
      // Alone, the layers take turns source by source, otherwise batch by batch.
      const batches = limit === 1 ? paths.map((_, index) => [index]) : [[...paths.keys()]];
      await measureBatches(runs, { batches, limit }, into);
    }
    Object.assign(metrics, metricsOf(cost, mode, costs, size * rounds));
  }
  return metrics;
}

const newCosts = (): Record<Layer, LayerCost> => ({
  plain: { wallMs: [], cpuSeconds: 0 },
  staged: { wallMs: [], cpuSeconds: 0 },
  walled: { wallMs: [], cpuSeconds: 0 },
  source: { wallMs: [], cpuSeconds: 0 },
});

async function measureBatches(
  runs: LayerRuns,
  { batches, limit }: { readonly batches: readonly (readonly number[])[]; readonly limit: number },
  into: Readonly<Record<Layer, LayerCost>>,
): Promise<void> {
  for (const batch of batches) for (const layer of layers) await measureRun(runs[layer], batch, limit, into[layer]);
}

/** Measures each source from its start to its end, and the CPU time of all together. */
async function measureRun(
  run: (index: number) => Promise<unknown>,
  indexes: readonly number[],
  limit: number,
  into: LayerCost,
): Promise<void> {
  const { cpuSeconds } = await costOf(() =>
    mapLimit(indexes, limit, async (index) => {
      const begin = process.hrtime.bigint();
      await run(index);
      into.wallMs.push(Number(process.hrtime.bigint() - begin) / 1e6);
    }),
  );
  into.cpuSeconds += cpuSeconds;
}

function metricsOf(
  { sources, command }: ProgramCost,
  mode: string,
  costs: Readonly<Record<Layer, LayerCost>>,
  count: number,
): BenchMetrics {
  const wall = (layer: Layer): number => medianOf(costs[layer].wallMs);
  const cpu = (layer: Layer): number => (costs[layer].cpuSeconds * 1000) / count;
  const metrics: Record<string, number> = {};
  for (const layer of layers) {
    const name = layer === 'plain' ? command : layer === 'source' ? sources : `${sources}_${layer}`;
    metrics[`${name}_${mode}_ms`] = wall(layer);
    metrics[`${name}_${mode}_cpu_ms`] = cpu(layer);
  }
  metrics[`${sources}_${mode}_to_${command}_ratio`] = wall('source') / wall('plain');
  if (cpu('plain') > 0) metrics[`${sources}_${mode}_to_${command}_cpu_ratio`] = cpu('source') / cpu('plain');
  return metrics;
}

function medianOf(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN;
}

/** The request that each source makes to the renderer. */
async function recordedRequests(
  root: string,
  repository: GitRepository,
  paths: readonly string[],
): Promise<readonly RenderRequest[]> {
  const requests: RenderRequest[] = [];
  const { desired } = createBenchSource(root, (request) => requests.push(request));
  for (const path of paths) await renderPath(desired, repository, path);
  return requests;
}

interface LayersInput {
  readonly root: string;
  readonly cost: ProgramCost;
  readonly binary: string;
  readonly repository: GitRepository;
  readonly requests: readonly RenderRequest[];
  readonly paths: readonly string[];
  /** A source that is not measured: the mirror is made for it. */
  readonly first: string;
}

async function layerRuns(input: LayersInput): Promise<LayerRuns> {
  const { root, cost, binary, repository, requests, paths, first } = input;
  const commands = startCommandHelper({ logger: silentLogger, env: process.env });
  const env = { HOME: join(root, 'home'), KUBECONFIG: '/dev/null' };
  const programs = programsFrom(toolLookup());
  const folder = join(root, 'staged');
  const staged = createInProcessRenderer({ commands, programs, folder, random: systemRandom });
  const { desired, renderer, started } = createBenchSource(join(root, 'cache'));
  // A replica starts its renderer once, not for each push.
  await started();
  await renderPath(desired, repository, first);
  const requestAt = (index: number): RenderRequest => {
    const request = requests[index];
    if (request === undefined) throw new Error(`source ${index} made no request`);
    return request;
  };
  return {
    plain: async (index) => {
      const cwd = join(repository.path, paths[index] ?? '');
      const options = { cwd, env, timeoutMs: 60_000, maxBytes: 1 << 24, signal: neverAborted };
      const { exitCode, stderr } = await commands.runCommand([binary, ...cost.args], options);
      if (exitCode !== 0) throw new Error(stderr);
    },
    staged: (index) => staged.render(requestAt(index), neverAborted),
    walled: (index) => renderer.render(requestAt(index), neverAborted),
    source: (index) => renderPath(desired, repository, paths[index] ?? ''),
  };
}
