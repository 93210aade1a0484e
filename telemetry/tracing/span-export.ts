import type { ReadableSpan, SpanExporter, SpanProcessor } from '@opentelemetry/sdk-trace';
import { messageOf, outsideText } from '#base';
import type { Logger } from '../log.ts';
import type { MetricRegistry } from '../metrics.ts';

/** Outcome of a span. */
const outcomes = ['sent', 'failed', 'dropped'] as const;
type SpanOutcome = (typeof outcomes)[number];

/** Value of ExportResultCode.SUCCESS in OpenTelemetry. */
const successCode = 0;

/** Counts the fate of spans, and logs the start and the end of an outage of the collector. */
export class ExportReport {
  readonly #logger: Logger;
  readonly #hidden: readonly string[];
  readonly #spans: Record<SpanOutcome, number> = { sent: 0, failed: 0, dropped: 0 };
  /** Spans lost in the outage; undefined: there is none. */
  #lost: number | undefined;

  /** @param hidden texts that the collector received and its errors may repeat */
  constructor(logger: Logger, hidden: readonly string[]) {
    this.#logger = logger;
    this.#hidden = hidden;
  }

  exposeMetrics(metrics: MetricRegistry): void {
    metrics.family({
      name: 'driftless_trace_spans_total',
      help: 'Spans of traces by outcome: sent to the collector, failed to send, or dropped from a full queue.',
      type: 'counter',
      collect: () => outcomes.map((outcome) => ({ labels: { outcome }, value: this.#spans[outcome] })),
    });
  }

  sent(spans: number): void {
    this.#spans.sent += spans;
    if (this.#lost === undefined) return;
    this.#logger.info('Traces reach the OpenTelemetry collector again', { lost: this.#lost });
    this.#lost = undefined;
  }

  failed(spans: number, error: unknown): void {
    this.#spans.failed += spans;
    this.#lose(spans, outsideText('rpc', messageOf(error), { hidden: this.#hidden }));
  }

  dropped(): void {
    this.#spans.dropped += 1;
    this.#lose(1, 'the queue of spans is full');
  }

  #lose(spans: number, reason: string): void {
    if (this.#lost === undefined)
      this.#logger.warn('Traces do not reach the OpenTelemetry collector; further losses are only counted', { reason });
    this.#lost = (this.#lost ?? 0) + spans;
  }
}

/** Bounds the spans that wait for the collector, and reports on them. */
export class BoundedExport {
  /** Pass spans here. */
  readonly processor: SpanProcessor;
  #waiting = 0;

  /**
   * @param batching makes the processor that collects spans for the given exporter
   * @param maxSpans spans in the queue and in flight together
   */
  constructor(
    exporter: SpanExporter,
    report: ExportReport,
    { batching, maxSpans }: { readonly batching: (exporter: SpanExporter) => SpanProcessor; readonly maxSpans: number },
  ) {
    const inner = batching(this.#counted(exporter, report));
    this.processor = {
      onStart: () => undefined,
      onEnd: (span) => {
        if (!isSampled(span)) return;
        if (this.#waiting >= maxSpans) {
          report.dropped();
          return;
        }
        this.#waiting += 1;
        inner.onEnd(span);
      },
      forceFlush: () => inner.forceFlush(),
      shutdown: () => inner.shutdown(),
    };
  }

  #counted(exporter: SpanExporter, report: ExportReport): SpanExporter {
    return {
      export: (spans, done) =>
        exporter.export(spans, (result) => {
          this.#waiting -= spans.length;
          const code: number = result.code;
          if (code === successCode) report.sent(spans.length);
          else report.failed(spans.length, result.error ?? 'no reason given');
          done(result);
        }),
      shutdown: () => exporter.shutdown(),
    };
  }
}

function isSampled(span: ReadableSpan): boolean {
  return (span.spanContext().traceFlags & 1) === 1;
}
