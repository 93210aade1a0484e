import { AsyncLocalStorage } from 'node:async_hooks';
import { messageOf } from '#base';
import { noSpan } from '../tracing/tracer.ts';
import type { Span, SpanAttributes, Tracer } from '../tracing/tracer.ts';

export interface RecordedSpan {
  readonly name: string;
  readonly parent: RecordedSpan | undefined;
  readonly traceparent: string;
  readonly attributes: Record<string, string | number | boolean>;
  failure?: string;
  isEnded: boolean;
}

/** Keeps spans in memory, in the order in which they start. */
export class RecordingTracer implements Tracer {
  readonly isOn = true;
  readonly spans: RecordedSpan[] = [];
  readonly #current = new AsyncLocalStorage<RecordedSpan>();

  trace<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> {
    return this.#run(name, undefined, attributes, work);
  }

  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T> {
    const parent = this.#current.getStore();
    return parent === undefined || parent.isEnded ? work(noSpan) : this.#run(name, parent, attributes, work);
  }

  named(name: string): readonly RecordedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  /** The names of the children of a span, in order. */
  children(parent: RecordedSpan | undefined): readonly string[] {
    return this.spans.filter((span) => span.parent === parent).map(({ name }) => name);
  }

  #run<T>(
    name: string,
    parent: RecordedSpan | undefined,
    attributes: SpanAttributes,
    work: (span: Span) => Promise<T>,
  ): Promise<T> {
    const traceparent = `span ${this.spans.length + 1}`;
    const recorded: RecordedSpan = { name, parent, traceparent, attributes: { ...attributes }, isEnded: false };
    this.spans.push(recorded);
    const span: Span = {
      traceparent,
      set: (more) => void Object.assign(recorded.attributes, more),
      fail: (message) => void (recorded.failure = message),
    };
    return this.#current.run(recorded, async () => {
      try {
        return await work(span);
      } catch (error) {
        recorded.failure = messageOf(error);
        throw error;
      } finally {
        recorded.isEnded = true;
      }
    });
  }
}
