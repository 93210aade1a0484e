import { AsyncLocalStorage } from 'node:async_hooks';
import type * as OpenTelemetry from '@opentelemetry/api';
import type { TracerProvider } from '@opentelemetry/sdk-trace';
import { DriftlessError, messageOf, outsideText } from '#base';
import { noSpan } from './tracer.ts';
import type { Span, SpanAttributes, Tracer } from './tracer.ts';

/** The parts of the SDK, loaded by the caller. */
export interface TracingSdk {
  readonly api: typeof OpenTelemetry;
  readonly provider: TracerProvider;
}

/** Names come from tenants: a collector must not store what they can make arbitrarily long. */
const maxValueLength = 256;
const maxMessageLength = 1024;

/**
 * Records spans with OpenTelemetry's SDK. Nothing is registered globally: the current span is kept
 * by this object alone.
 */
export class OtlpTracer implements Tracer {
  readonly isOn = true;
  readonly #sdk: TracingSdk;
  readonly #tracer: OpenTelemetry.Tracer;
  readonly #current = new AsyncLocalStorage<OpenSpan>();

  constructor(sdk: TracingSdk) {
    this.#sdk = sdk;
    this.#tracer = sdk.provider.getTracer('driftless');
  }

  trace<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> {
    return this.#run(this.#open(name, attributes, this.#sdk.api.ROOT_CONTEXT), work);
  }

  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> {
    const parent = this.#current.getStore();
    if (parent === undefined || parent.isEnded) return work(noSpan);
    return this.#run(this.#open(name, attributes, parent.context), work);
  }

  #open(name: string, attributes: SpanAttributes, parent: OpenTelemetry.Context): OpenSpan {
    const inner = this.#tracer.startSpan(name, {}, parent);
    const span = new OpenSpan(this.#sdk.api, inner, this.#sdk.api.trace.setSpan(parent, inner));
    span.set(attributes);
    return span;
  }

  #run<T>(span: OpenSpan, work: (span: Span) => Promise<T>): Promise<T> {
    return this.#current.run(span, async () => {
      try {
        return await work(span);
      } catch (error) {
        span.failWith(error);
        throw error;
      } finally {
        span.end();
      }
    });
  }
}

class OpenSpan implements Span {
  readonly context: OpenTelemetry.Context;
  readonly #api: TracingSdk['api'];
  readonly #inner: OpenTelemetry.Span;
  isEnded = false;

  constructor(api: TracingSdk['api'], inner: OpenTelemetry.Span, context: OpenTelemetry.Context) {
    this.#api = api;
    this.#inner = inner;
    this.context = context;
  }

  /** A trace that is not sampled is passed on too: its receivers must not sample it either. */
  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.#inner.spanContext();
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: SpanAttributes): void {
    if (!this.#inner.isRecording()) return;
    for (const [name, value] of Object.entries(attributes))
      this.#inner.setAttribute(name, typeof value === 'string' ? cleanText(value, maxValueLength) : value);
  }

  fail(message: string): void {
    if (!this.#inner.isRecording()) return;
    this.#inner.setStatus({ code: this.#api.SpanStatusCode.ERROR, message: cleanText(message, maxMessageLength) });
  }

  failWith(error: unknown): void {
    this.fail(messageOf(error));
    if (error instanceof DriftlessError) this.set({ 'error.type': error.code });
    else if (error instanceof Error) this.set({ 'error.type': error.name });
  }

  end(): void {
    this.isEnded = true;
    this.#inner.end();
  }
}

/** One line without credentials and control characters. */
function cleanText(text: string, maxLength: number): string {
  return outsideText('field', text).replace(/\s+/g, ' ').slice(0, maxLength);
}
