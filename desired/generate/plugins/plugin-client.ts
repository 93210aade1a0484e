import { createHash } from 'node:crypto';
import type { Client, ClientWritableStream, MethodDefinition, ServiceError } from '@grpc/grpc-js';
import { outsideText } from '#base';
import { PluginFailed } from '../../errors.ts';
import { grpc, serviceMethods } from '../../remote/grpc.ts';
import { countFields } from './message-fields.ts';

/**
 * The gRPC service of Argo CD's config management plugins, by its field numbers
 * (cmpserver/plugin/plugin.proto).
 */
const pluginService = {
  nested: {
    plugin: {
      nested: {
        Empty: { fields: {} },
        EnvEntry: { fields: { name: { type: 'string', id: 1 }, value: { type: 'string', id: 2 } } },
        Metadata: {
          fields: {
            appName: { type: 'string', id: 1 },
            appRelPath: { type: 'string', id: 2 },
            checksum: { type: 'string', id: 3 },
            size: { type: 'int64', id: 4 },
            env: { rule: 'repeated', type: 'EnvEntry', id: 5 },
          },
        },
        File: { fields: { chunk: { type: 'bytes', id: 1 } } },
        AppStreamRequest: {
          oneofs: { request: { oneof: ['metadata', 'file'] } },
          fields: { metadata: { type: 'Metadata', id: 1 }, file: { type: 'File', id: 2 } },
        },
        CheckPluginConfigurationResponse: {
          fields: { isDiscoveryConfigured: { type: 'bool', id: 1 }, provideGitCreds: { type: 'bool', id: 2 } },
        },
        RepositoryResponse: {
          fields: { isSupported: { type: 'bool', id: 1 }, isDiscoveryEnabled: { type: 'bool', id: 2 } },
        },
        ManifestResponse: {
          fields: { manifests: { rule: 'repeated', type: 'string', id: 1 }, sourceType: { type: 'string', id: 2 } },
        },
        ConfigManagementPluginService: {
          methods: {
            CheckPluginConfiguration: { requestType: 'Empty', responseType: 'CheckPluginConfigurationResponse' },
            MatchRepository: {
              requestType: 'AppStreamRequest',
              requestStream: true,
              responseType: 'RepositoryResponse',
            },
            GenerateManifest: {
              requestType: 'AppStreamRequest',
              requestStream: true,
              responseType: 'ManifestResponse',
            },
          },
        },
      },
    },
  },
};

/** Its methods. Test servers use them too. */
export const pluginMethods = serviceMethods(pluginService, 'plugin.ConfigManagementPluginService', {
  longs: Number,
  defaults: true,
});

/**
 * The input of a plugin: the files as a packed tar, the application's path in it, and its
 * environment.
 */
export interface PluginInput {
  readonly appName: string;
  readonly appRelPath: string;
  readonly env: Readonly<Record<string, string>>;
  readonly packed: Uint8Array;
}

/** Limits of one answer. */
export interface AnswerBounds {
  readonly maxBytes: number;
  /** Texts of manifests. Each costs memory and time even if it is empty. */
  readonly maxParts: number;
}

const chunkBytes = 16 * 1024;

/** The client of one plugin. A call ends when its signal aborts, whatever the plugin does. */
export class PluginClient {
  readonly #name: string;
  readonly #client: Client;
  readonly #hidden: () => readonly string[];
  readonly #maxParts: number;
  readonly #lent: string[] = [];

  /** @param hidden returns texts to redact from errors */
  constructor(name: string, socket: string, bounds: AnswerBounds, hidden: () => readonly string[]) {
    this.#name = name;
    this.#hidden = hidden;
    this.#maxParts = bounds.maxParts;
    this.#client = new (grpc().Client)(`unix:${socket}`, grpc().credentials.createInsecure(), {
      'grpc.max_receive_message_length': bounds.maxBytes,
      'grpc.enable_retries': 0,
    });
  }

  close(): void {
    this.#client.close();
  }

  /** Redacts credentials that the plugin is lent from its errors. */
  hide(secrets: readonly string[]): void {
    this.#lent.push(...secrets);
  }

  async configuration(
    signal: AbortSignal,
  ): Promise<{ readonly isDiscoveryConfigured: boolean; readonly provideGitCreds: boolean }> {
    const { path, requestSerialize, responseDeserialize } = this.#method('CheckPluginConfiguration');
    const answer = await this.#answer(signal, (done) => {
      return this.#client.makeUnaryRequest(path, requestSerialize, responseDeserialize, {}, done);
    });
    return answer as { isDiscoveryConfigured: boolean; provideGitCreds: boolean };
  }

  async matches(input: PluginInput, signal: AbortSignal): Promise<boolean> {
    const answer = await this.#streamed('MatchRepository', input, signal);
    return (answer as { readonly isSupported: boolean }).isSupported;
  }

  /** Texts of YAML documents. */
  async manifests(input: PluginInput, signal: AbortSignal): Promise<readonly string[]> {
    const answer = await this.#streamed('GenerateManifest', input, signal);
    return (answer as { readonly manifests: readonly string[] }).manifests;
  }

  #streamed(name: string, input: PluginInput, signal: AbortSignal): Promise<object> {
    const { path, requestSerialize, responseDeserialize } = this.#method(name);
    const read = (bytes: Buffer): object => {
      if (countFields(bytes, this.#maxParts) > this.#maxParts)
        throw new Error(`it has more than ${this.#maxParts} manifests`);
      return responseDeserialize(bytes);
    };
    return this.#answer(signal, (done) => {
      const call = this.#client.makeClientStreamRequest(path, requestSerialize, read, done);
      void send(call, input);
      return call;
    });
  }

  #answer(
    signal: AbortSignal,
    start: (done: (error: ServiceError | null, answer?: object) => void) => { cancel(): void },
  ): Promise<object> {
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const call = start((error, answer) => {
        signal.removeEventListener('abort', onAbort);
        if (signal.aborted) reject(signal.reason as Error);
        else if (error !== null)
          reject(new PluginFailed(this.#name, reasonOf(error, [...this.#hidden(), ...this.#lent])));
        else resolve(answer ?? {});
      });
      const onAbort = (): void => call.cancel();
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #method(name: string): MethodDefinition<object, object> {
    const method: MethodDefinition<object, object> | undefined = pluginMethods()[name];
    if (method === undefined) throw new TypeError(`the plugin service has no method ${name}`);
    return method;
  }
}

/**
 * Sends the metadata, then the bytes as fast as the plugin accepts them. A call that has ended
 * accepts nothing more.
 */
async function send(call: ClientWritableStream<object>, { packed, ...input }: PluginInput): Promise<void> {
  const env = Object.entries(input.env).map(([name, value]) => ({ name, value }));
  const checksum = createHash('sha256').update(packed).digest('hex');
  call.write({ metadata: { ...input, env, checksum, size: packed.length } });
  for (let at = 0; at < packed.length && !call.destroyed && !call.writableEnded; at += chunkBytes) {
    const goesOn = call.write({ file: { chunk: packed.subarray(at, at + chunkBytes) } });
    if (!goesOn) await drained(call);
  }
  call.end();
}

function drained(call: ClientWritableStream<object>): Promise<void> {
  return new Promise((resolve) => {
    for (const event of ['drain', 'close', 'error', 'status']) call.once(event, () => resolve());
  });
}

function reasonOf({ code, details }: ServiceError, hidden: readonly string[]): string {
  if (code === grpc().status.UNAVAILABLE) return 'it cannot be reached, or ended while it worked';
  if (code === grpc().status.RESOURCE_EXHAUSTED) return 'its answer is too big';
  return outsideText('rpc', details, { hidden });
}
