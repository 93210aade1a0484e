import { Server, ServerCredentials, status } from '@grpc/grpc-js';
import type { sendUnaryData, ServerUnaryCall, ServiceDefinition } from '@grpc/grpc-js';
import { fromJSON } from '@grpc/proto-loader';

/** A received span; ids in hex. */
export interface CollectedSpan {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  /** '' for the first span of a trace. */
  readonly parentId: string;
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
  /** The message of a failed span. */
  readonly failure?: string;
  readonly resource: Readonly<Record<string, string | number | boolean>>;
}

/** How the collector answers: properly, with an error, never, or with bytes that are no message. */
export type CollectorMode = 'accept' | 'refuse' | 'silent' | 'garbage';

interface WireAttribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly boolValue?: boolean; readonly intValue?: number };
}
interface WireSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId?: Buffer;
  readonly name: string;
  readonly attributes?: readonly WireAttribute[];
  readonly status?: { readonly message?: string; readonly code?: number };
}
interface WireRequest {
  readonly resourceSpans?: readonly {
    readonly resource?: { readonly attributes?: readonly WireAttribute[] };
    readonly scopeSpans?: readonly { readonly spans?: readonly WireSpan[] }[];
  }[];
}

/** The trace service of OTLP by field numbers (opentelemetry/proto/collector/trace/v1). */
const described = {
  nested: {
    otlp: {
      nested: {
        Value: {
          fields: {
            stringValue: { type: 'string', id: 1 },
            boolValue: { type: 'bool', id: 2 },
            intValue: { type: 'int64', id: 3 },
          },
          oneofs: { value: { oneof: ['stringValue', 'boolValue', 'intValue'] } },
        },
        Attribute: { fields: { key: { type: 'string', id: 1 }, value: { type: 'Value', id: 2 } } },
        Resource: { fields: { attributes: { rule: 'repeated', type: 'Attribute', id: 1 } } },
        Status: { fields: { message: { type: 'string', id: 2 }, code: { type: 'int32', id: 3 } } },
        Span: {
          fields: {
            traceId: { type: 'bytes', id: 1 },
            spanId: { type: 'bytes', id: 2 },
            parentSpanId: { type: 'bytes', id: 4 },
            name: { type: 'string', id: 5 },
            attributes: { rule: 'repeated', type: 'Attribute', id: 9 },
            status: { type: 'Status', id: 15 },
          },
        },
        ScopeSpans: { fields: { spans: { rule: 'repeated', type: 'Span', id: 2 } } },
        ResourceSpans: {
          fields: {
            resource: { type: 'Resource', id: 1 },
            scopeSpans: { rule: 'repeated', type: 'ScopeSpans', id: 2 },
          },
        },
        Request: { fields: { resourceSpans: { rule: 'repeated', type: 'ResourceSpans', id: 1 } } },
        Response: { fields: {} },
        Traces: { methods: { Export: { requestType: 'Request', responseType: 'Response' } } },
      },
    },
  },
};

function serviceOf(mode: () => CollectorMode): ServiceDefinition {
  const definition = fromJSON(described as Parameters<typeof fromJSON>[0], { longs: Number });
  const { Export: method } = definition['otlp.Traces'] as ServiceDefinition;
  if (method === undefined) throw new TypeError('the description has no method Export');
  return {
    Export: {
      ...method,
      path: '/opentelemetry.proto.collector.trace.v1.TraceService/Export',
      responseSerialize: () => (mode() === 'garbage' ? Buffer.from([0x0a, 0xff, 0xff, 0xff, 0x7f]) : Buffer.alloc(0)),
    },
  };
}

/** An OTLP collector on loopback that keeps what it receives. */
export class TestCollector {
  readonly spans: CollectedSpan[] = [];
  /** The metadata of each request. */
  readonly headers: Readonly<Record<string, unknown>>[] = [];
  mode: CollectorMode = 'accept';
  readonly #server = new Server();
  #port = 0;

  /** `localhost:port`. */
  get address(): string {
    return `localhost:${this.#port}`;
  }

  /** @param identity PEM texts for TLS; undefined: plain text */
  static async start(identity?: { readonly key: string; readonly cert: string }): Promise<TestCollector> {
    const collector = new TestCollector();
    const pair =
      identity === undefined
        ? []
        : [{ private_key: Buffer.from(identity.key), cert_chain: Buffer.from(identity.cert) }];
    const trust = pair.length === 0 ? ServerCredentials.createInsecure() : ServerCredentials.createSsl(null, pair);
    collector.#server.addService(
      serviceOf(() => collector.mode),
      {
        Export: (call: ServerUnaryCall<WireRequest, object>, done: sendUnaryData<object>) =>
          collector.#receive(call, done),
      },
    );
    collector.#port = await new Promise<number>((resolve, reject) =>
      collector.#server.bindAsync('127.0.0.1:0', trust, (error, port) =>
        error === null ? resolve(port) : reject(error),
      ),
    );
    return collector;
  }

  stop(): void {
    this.#server.forceShutdown();
  }

  named(name: string): readonly CollectedSpan[] {
    return this.spans.filter((span) => span.name === name);
  }

  #receive(call: ServerUnaryCall<WireRequest, object>, done: sendUnaryData<object>): void {
    this.headers.push(call.metadata.getMap());
    if (this.mode === 'silent') return;
    if (this.mode === 'refuse') {
      done({ code: status.PERMISSION_DENIED, details: 'not for you' });
      return;
    }
    for (const { resource, scopeSpans = [] } of call.request.resourceSpans ?? [])
      for (const span of scopeSpans.flatMap(({ spans = [] }) => spans))
        this.spans.push(spanOf(span, resource?.attributes));
    done(null, {});
  }
}

function spanOf(span: WireSpan, resource: readonly WireAttribute[] | undefined): CollectedSpan {
  return {
    name: span.name,
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentId: (span.parentSpanId ?? Buffer.alloc(0)).toString('hex'),
    attributes: attributesOf(span.attributes),
    ...(span.status?.code === 2 ? { failure: span.status.message ?? '' } : {}),
    resource: attributesOf(resource),
  };
}

function attributesOf(attributes: readonly WireAttribute[] = []): CollectedSpan['attributes'] {
  return Object.fromEntries(
    attributes.map(({ key, value: { stringValue, boolValue, intValue } }) => [
      key,
      stringValue ?? boolValue ?? intValue ?? '',
    ]),
  );
}
