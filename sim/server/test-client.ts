import { request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isObject, parseJson, stringifyJson } from '#base';
import type { Json, JsonObject } from '#base';

export interface TestResponse {
  readonly code: number;
  readonly text: string;
  /** The body if it is a JSON object, else an empty object. */
  readonly body: JsonObject;
  readonly headers: IncomingMessage['headers'];
}

export interface TestWatch {
  /** The received events, parsed; lines that are not JSON are strings. */
  readonly events: readonly (JsonObject | string)[];
  /** Resolves when the server ends the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export interface TestRequest {
  readonly body?: Json;
  readonly text?: string;
  readonly bytes?: Buffer;
  readonly type?: string;
  readonly accept?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A bare HTTP client for the tests of the server: no retries, no interpretation. */
export class TestClient {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url;
  }

  get(path: string, ask: TestRequest = {}): Promise<TestResponse> {
    return this.call('GET', path, ask);
  }

  post(path: string, body: Json, ask: TestRequest = {}): Promise<TestResponse> {
    return this.call('POST', path, { body, ...ask });
  }

  put(path: string, body: Json): Promise<TestResponse> {
    return this.call('PUT', path, { body });
  }

  delete(path: string, body?: Json): Promise<TestResponse> {
    return this.call('DELETE', path, body === undefined ? {} : { body });
  }

  merge(path: string, body: Json): Promise<TestResponse> {
    return this.call('PATCH', path, { body, type: 'application/merge-patch+json' });
  }

  call(method: string, path: string, ask: TestRequest = {}): Promise<TestResponse> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#send(method, path, ask, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          resolve({ code: response.statusCode ?? 0, text, body: parseBody(text), headers: response.headers });
        });
      });
      outgoing.on('error', reject);
    });
  }

  /** Opens a watch; resolves with the response headers. */
  watch(path: string, ask: TestRequest = {}): Promise<TestWatch> {
    return new Promise((resolve, reject) => {
      const events: (JsonObject | string)[] = [];
      const outgoing = this.#send('GET', path, ask, (response) => {
        let rest = '';
        response.on('data', (chunk: Buffer) => {
          const lines = (rest + chunk.toString('utf8')).split('\n');
          rest = lines.pop() ?? '';
          for (const line of lines) events.push(parsedLine(line));
        });
        const ended = new Promise<void>((done) => {
          response.on('close', done);
          response.on('error', () => done());
        });
        resolve({ events, ended, close: () => outgoing.destroy() });
      });
      outgoing.on('error', reject);
    });
  }

  #send(
    method: string,
    path: string,
    ask: TestRequest,
    onResponse: (response: IncomingMessage) => void,
  ): ClientRequest {
    const payload = ask.bytes ?? ask.text ?? (ask.body === undefined ? undefined : stringifyJson(ask.body));
    const outgoing = request(
      this.#url + path,
      {
        method,
        agent: false,
        headers: {
          Accept: ask.accept ?? 'application/json',
          ...(payload === undefined
            ? {}
            : { 'Content-Type': ask.type ?? 'application/json', 'Content-Length': Buffer.byteLength(payload) }),
          ...ask.headers,
        },
      },
      onResponse,
    );
    outgoing.end(payload);
    return outgoing;
  }
}

function parseBody(text: string): JsonObject {
  const value = parsedLine(text);
  return typeof value === 'string' ? {} : value;
}

function parsedLine(line: string): JsonObject | string {
  try {
    const value = parseJson(line);
    return isObject(value) ? value : line;
  } catch {
    return line;
  }
}
