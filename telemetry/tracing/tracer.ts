/** Attributes of a span. Values are cut to a length limit, and contain no credentials. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** A unit of work in a trace. It ends when its work settles, and has failed if the work rejects. */
export interface Span {
  /** The W3C header `traceparent` for requests of this work; undefined: no trace. */
  readonly traceparent: string | undefined;
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed although its work resolves. */
  fail(message: string): void;
}

/**
 * Records traces. The current span follows the work through its awaits, so that callees need no
 * parameter for it. Work that outlives its span (a watch started by a pass) has no current span.
 */
export interface Tracer {
  /** False: no span is ever recorded. Callers then save the cost of computing attributes. */
  readonly isOn: boolean;
  /** Runs `work` in the first span of a new trace. */
  trace<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
  /** Runs `work` in a child of the current span; without one, in no span. */
  span<T>(name: string, attributes: SpanAttributes, work: (span: Span) => Promise<T>): Promise<T>;
}

/** The span of work that is not traced. */
export const noSpan: Span = { traceparent: undefined, set: () => undefined, fail: () => undefined };

/** A tracer that records nothing: the default. */
export const noTracer: Tracer = {
  isOn: false,
  trace: (_name, _attributes, work) => work(noSpan),
  span: (_name, _attributes, work) => work(noSpan),
};
