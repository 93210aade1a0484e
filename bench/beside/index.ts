import { existsSync } from 'node:fs';
import { loadavg } from 'node:os';
import { messageOf } from '#base';
import type { BenchContext, Benchmark, BenchMetrics } from '../harness.ts';
import { missingTools } from '../fleet/tools.ts';
import { ControllerProcess } from './controllers.ts';
import { besideTable, metricsOf, ratiosOf, roundsOf } from './figures.ts';
import type { Round, Side, SideFigures } from './figures.ts';
import { BesideHub } from './hub.ts';
import { playScript } from './script.ts';

const needed = ['kube-apiserver', 'etcd', 'kubectl', 'openssl', 'redis-server', 'argocd'] as const;
const defaultSizes = '200,1000';
const smokeSize = '5';
const smallestSize = 5;
const fixedLimitMs = 300_000;
const smokeLimitMs = 60_000;
const limitPerApplicationMs = 3000;
/** Memory at rest is read this long after the first sync; then CPU is measured for as long. */
const restMs = 20_000;

/** Argo CD first, then ours; the name of the part that runs one of them alone. */
const sides = [
  { side: 'argo_cd', part: 'argo-cd' },
  { side: 'ours', part: 'ours' },
] as const;

/**
 * Argo CD's application controller and ours, one after the other, each as its own process on its
 * own real API server, through the same script.
 */
export const besideBenchmark: Benchmark = {
  name: 'beside',
  about: "Argo CD's application controller and ours through the same script, each on its own real API server",
  parts: sides.map(({ part }) => part),
  options: ['size', 'qps'],
  table: (metrics) =>
    `${besideTable(roundsOf(metrics), metrics)}  load average at the end: ${metrics['load_average_1min_count'] ?? 0}\n`,
  async run(context) {
    const metrics: Record<string, number> = {};
    for (const round of canRun(context) ? roundsFor(context) : []) {
      for (const { side } of sides.filter(({ part }) => context.wants(part)))
        Object.assign(metrics, metricsOf(round, side, await measureSide(context, round, side)));
      Object.assign(metrics, ratiosOf(round, metrics));
    }
    return { ...metrics, load_average_1min_count: loadavg()[0] ?? 0 } satisfies BenchMetrics;
  },
};

/** The smoke run includes it only on request, by the names of parts: it needs external programs. */
function canRun({ smoke, wants, progress }: BenchContext): boolean {
  const isWhole = wants('');
  if (smoke && isWhole) return false;
  const missing = missingTools(needed);
  if (missing.length > 0) progress(`beside: left out, ${missing.join(', ')} missing: run npm run e2e:setup`);
  else if (!existsSync('dist/cli/main.js')) throw new Error('dist/ is missing: run npm run build');
  return missing.length === 0;
}

/** The sizes and client rates of the options, each size with each rate. */
function roundsFor({ smoke, option }: BenchContext): readonly Round[] {
  const sizes = (option('size') ?? (smoke ? smokeSize : defaultSizes)).split(',').map((text) => numberOf('size', text));
  const small = sizes.find((size) => size < smallestSize);
  if (small !== undefined)
    throw new Error(`--size ${small} is too small for the script: choose at least ${smallestSize}`);
  const rates = option('qps')
    ?.split(',')
    .map((text) => numberOf('qps', text)) ?? [undefined];
  return sizes.flatMap((size) => rates.map((qps) => ({ size, qps })));
}

function numberOf(option: string, text: string): number {
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new Error(`--${option} ${text} is not a whole number above 0`);
}

async function measureSide(context: BenchContext, { size, qps }: Round, side: Side): Promise<SideFigures> {
  const rate = qps === undefined ? '' : `, ${qps} requests a second`;
  const print = (line: string): void => context.progress(`beside: ${side}, ${size} Applications${rate}: ${line}`);
  print('starting');
  const hub = await BesideHub.start(size);
  try {
    const controller = await ControllerProcess.start(side, hub, { qps });
    try {
      const oneMs = context.smoke ? smokeLimitMs : fixedLimitMs;
      const limits = { allMs: oneMs + size * limitPerApplicationMs, oneMs, restMs: context.smoke ? 0 : restMs };
      return await playScript({ hub, controller, limits, print });
    } catch (error) {
      const details = [hub.firstError(), `the end of its log:\n${controller.tail()}`].join('\n');
      throw new Error(`${side} with ${size} Applications: ${messageOf(error)}\n${details}`, { cause: error });
    } finally {
      await controller.stop();
    }
  } finally {
    await hub.close();
  }
}
