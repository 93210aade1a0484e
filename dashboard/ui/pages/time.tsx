import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { HistoryResponse, HistorySample, ReplicaHistory } from '../../../api/view-types.ts';
import { replaceQuery, route } from '../data/location.ts';
import { usePage } from '../data/poll.ts';
import { bytesText, numberText } from '../logic/format.ts';
import { linesByReplica, linesByValue, passesByCause } from '../logic/series.ts';
import type { ChartData } from '../logic/series.ts';
import { LineChart } from '../parts/chart.tsx';
import { PageTitle } from '../parts/shell.tsx';
import { Empty, PageState, Panel } from '../parts/state.tsx';

const pollMs = 10_000;

export function TimePage(): JSX.Element {
  const answer = usePage<HistoryResponse>('history', pollMs);
  const { page } = answer;
  const chosen = route.value.query.get('replica') ?? '';
  const items = page?.items ?? [];
  const shown = useMemo(() => items.filter(({ replica }) => chosen === '' || replica === chosen), [page, chosen]);
  const hasSamples = shown.some(({ samples }) => samples.length > 1);
  return (
    <>
      <PageTitle title="Time">
        <p class="muted">The last hour, from the memory of each replica.</p>
        <label class="inline">
          <span>Replica</span>
          <select
            aria-label="Replica"
            value={chosen}
            onChange={(event) => {
              const { value } = event.currentTarget;
              replaceQuery(value === '' ? '' : new URLSearchParams({ replica: value }).toString());
            }}
          >
            <option value="">all</option>
            {items.map(({ replica }) => (
              <option key={replica}>{replica}</option>
            ))}
          </select>
        </label>
      </PageTitle>
      <PageState {...answer} />
      {page !== undefined && !hasSamples && <Empty>The first figures come after half a minute.</Empty>}
      {hasSamples && <Charts histories={shown} />}
    </>
  );
}

interface ChartSpec {
  readonly title: string;
  readonly data: ChartData;
  readonly text: (value: number) => string;
}

function Charts({ histories }: { histories: readonly ReplicaHistory[] }): JSX.Element {
  const charts = useMemo(() => chartsOf(histories), [histories]);
  return (
    <div class="charts">
      {charts.map(({ title, data, text }) => (
        <Panel key={title} title={title}>
          <LineChart title={title} data={data} text={text} />
        </Panel>
      ))}
    </div>
  );
}

const ms = (value: number): string => (value >= 1000 ? `${numberText(value / 1000)} s` : `${numberText(value)} ms`);
const count = (value: number): string => numberText(value);
const seconds = (interval: number): number => interval / 1000;

function chartsOf(histories: readonly ReplicaHistory[]): readonly ChartSpec[] {
  const [only] = histories;
  const interval = seconds(only?.intervalMs ?? 10_000);
  return [
    ...durationCharts('Syncs and drift repairs', histories, [(s) => s.syncP50Ms, (s) => s.syncP99Ms]),
    ...durationCharts('Passes', histories, [(s) => s.passP50Ms, (s) => s.passP99Ms]),
    { title: 'Passes by cause, in 10 seconds', data: passesByCause(histories), text: count },
    { title: 'Items in queues', data: linesByReplica(histories, (s) => s.queueDepth), text: count },
    { title: 'Age of the oldest item', data: linesByReplica(histories, (s) => s.oldestQueuedMs), text: ms },
    {
      title: 'API requests a second',
      data: linesByReplica(histories, (s) => s.apiRequests / interval),
      text: count,
    },
    { title: 'Watch events a second', data: linesByReplica(histories, (s) => s.watchEvents / interval), text: count },
    {
      title: 'Event loop delay, p99',
      data: linesByReplica(histories, (s) => s.eventLoopDelayMs),
      text: ms,
    },
    { title: 'Heap', data: linesByReplica(histories, (s) => s.heapBytes), text: bytesText },
    {
      title: 'CPU',
      data: linesByReplica(histories, (s) => Math.round(s.cpu * 100)),
      text: (value) => `${numberText(value)} %`,
    },
  ];
}

type DurationValue = (sample: HistorySample) => number | undefined;

/** Both percentiles of one replica in one chart; of several replicas, one chart for each. */
function durationCharts(
  title: string,
  histories: readonly ReplicaHistory[],
  [p50, p99]: readonly [DurationValue, DurationValue],
): readonly ChartSpec[] {
  const [only] = histories;
  if (histories.length === 1 && only !== undefined) {
    const data = linesByValue(only, [
      ['p50', p50],
      ['p99', p99],
    ]);
    return [{ title: `${title}, p50 and p99`, data, text: ms }];
  }
  return [
    { title: `${title}, p50`, data: linesByReplica(histories, p50), text: ms },
    { title: `${title}, p99`, data: linesByReplica(histories, p99), text: ms },
  ];
}
