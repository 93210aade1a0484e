import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { theme } from '../data/storage.ts';
import { singlePoints } from '../logic/series.ts';
import type { ChartData } from '../logic/series.ts';

interface LineChartProps {
  readonly title: string;
  readonly data: ChartData;
  readonly text: (value: number) => string;
}

const height = 168;
const lineColors = 8;
const maxLines = 12;
/** No step below one: a count has no fractions, and a duration none that matters. */
const wholeSteps = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();

/** Lines over time. Their last values stand below as text, which is what a screen reader gets. */
export function LineChart({ title, data, text }: LineChartProps): JSX.Element {
  const box = useRef<HTMLDivElement>(null);
  const colours = theme.value;
  const shape = data.labels.slice(0, maxLines).join('\n');
  const chart = useRef<uPlot | null>(null);
  useEffect(() => {
    const element = box.current;
    if (element === null) return undefined;
    const plot = new uPlot(optionsOf(data, text, element), tableOf(data), element);
    chart.current = plot;
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.destroy();
      chart.current = null;
    };
  }, [shape, colours]);
  useEffect(() => chart.current?.setData(tableOf(data)), [data]);
  return (
    <>
      <div class="chart" ref={box} role="img" aria-label={`${title}: the values are listed below`} />
      <ul class="legend">
        {data.labels.slice(0, maxLines).map((label, i) => (
          <li key={label}>
            <span class={`swatch line-${i % lineColors}`} aria-hidden="true" />
            {label} <strong>{lastOf(data.lines[i], text)}</strong>
          </li>
        ))}
        {data.labels.length > maxLines && <li>and {data.labels.length - maxLines} more</li>}
      </ul>
    </>
  );
}

const minuteSeconds = 60;

/** With seconds where a minute has several marks. */
function clockTexts(marks: readonly number[]): readonly string[] {
  const [first = 0, second = first + minuteSeconds] = marks;
  const length = second - first < minuteSeconds ? 8 : 5;
  return marks.map((seconds) => new Date(seconds * 1000).toTimeString().slice(0, length));
}

function lastOf(line: ChartData['lines'][number] | undefined, text: (value: number) => string): string {
  const value = line?.findLast((figure) => figure != null);
  return value == null ? '–' : text(value);
}

function tableOf({ times, lines }: ChartData): uPlot.AlignedData {
  return [[...times], ...lines.slice(0, maxLines).map((line) => [...line])];
}

function optionsOf({ labels }: ChartData, text: (value: number) => string, element: HTMLElement): uPlot.Options {
  const colour = (name: string): string => {
    // A canvas does not know custom properties: the style of an element resolves them.
    element.style.color = `var(${name})`;
    const { color } = getComputedStyle(element);
    element.style.color = '';
    return color;
  };
  const axis = { stroke: colour('--muted'), grid: { stroke: colour('--line'), width: 1 }, ticks: { show: false } };
  return {
    width: element.clientWidth,
    height,
    padding: [8, 18, 0, 0],
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { x: false, y: false } },
    scales: { y: { range: (_plot, _low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, size: 26, font: '11px system-ui', space: 64, values: (_plot, splits) => [...clockTexts(splits)] },
      {
        ...axis,
        size: 58,
        incrs: [...wholeSteps],
        font: '11px system-ui',
        values: (_plot, splits) => splits.map((value) => text(value)),
      },
    ],
    series: [
      {},
      ...labels.slice(0, maxLines).map((label, i) => ({
        label,
        stroke: colour(`--line-${i % lineColors}`),
        width: 1.75,
        points: {
          size: 4,
          fill: colour(`--line-${i % lineColors}`),
          filter: (plot: uPlot, series: number) => [...singlePoints(Array.from(plot.data[series] ?? []))],
        },
      })),
    ],
  };
}
