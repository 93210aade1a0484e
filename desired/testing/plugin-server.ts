import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { handleUnaryCall, ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import { join } from 'node:path';
import { unpack } from '../fetch/files/archive.ts';
import type { UnpackedArchive } from '../fetch/files/archive.ts';
import { walk } from '../fetch/files/tree.ts';
import { pluginMethods } from '../generate/plugins/plugin-client.ts';

/** The input that a plugin received. */
export interface ReceivedInput {
  readonly appName: string;
  readonly appRelPath: string;
  readonly checksum: string;
  readonly size: number;
  readonly env: Readonly<Record<string, string>>;
  /** Without those of `.git`. */
  readonly files: Readonly<Record<string, string>>;
  readonly hasGit: boolean;
  /** The archive. */
  readonly packed: Buffer;
}

export interface PluginBehaviour {
  readonly discovery?: boolean;
  readonly provideGitCreds?: boolean;
  readonly matches?: (sent: ReceivedInput) => boolean;
  /** Undefined: never answers. */
  readonly manifests?: (sent: ReceivedInput) => readonly string[] | Error | undefined;
}

/** A config management plugin on its own socket. */
export interface TestPlugin {
  readonly sent: { readonly method: string; readonly what: ReceivedInput }[];
  /** Stops immediately, and breaks all calls. */
  kill(): void;
}

interface StreamPart {
  readonly metadata?: Omit<ReceivedInput, 'env' | 'files' | 'hasGit' | 'packed'> & {
    readonly env: readonly { name: string; value: string }[];
  };
  readonly file?: { readonly chunk: Buffer } | null;
}

export async function startPlugin(folder: string, name: string, behaviour: PluginBehaviour): Promise<TestPlugin> {
  const server = new Server();
  const sent: { method: string; what: ReceivedInput }[] = [];
  const streamed =
    (method: string, answer: (what: ReceivedInput) => object | Error | undefined) =>
    (call: ServerReadableStream<StreamPart, object>, done: sendUnaryData<object>): void => {
      receiveInput(call).then(
        (what) => {
          sent.push({ method, what });
          const result = answer(what);
          if (result instanceof Error) done(result);
          else if (result !== undefined) done(null, result);
        },
        (error: unknown) => done(error as Error),
      );
    };
  const check: handleUnaryCall<object, object> = (_call, done) =>
    done(null, {
      isDiscoveryConfigured: behaviour.discovery === true,
      provideGitCreds: behaviour.provideGitCreds === true,
    });
  server.addService(pluginMethods(), {
    CheckPluginConfiguration: check,
    MatchRepository: streamed('match', (what) => ({ isSupported: behaviour.matches?.(what) === true })),
    GenerateManifest: streamed('generate', (what) => {
      const manifests = behaviour.manifests?.(what);
      return manifests === undefined || manifests instanceof Error ? manifests : { manifests };
    }),
  });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix:${join(folder, `${name}.sock`)}`, ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error),
    );
  });
  return { sent, kill: () => server.forceShutdown() };
}

async function receiveInput(call: ServerReadableStream<StreamPart, object>): Promise<ReceivedInput> {
  const chunks: Buffer[] = [];
  let metadata: StreamPart['metadata'];
  for await (const part of call as AsyncIterable<StreamPart>) {
    metadata ??= part.metadata;
    if (part.file !== undefined && part.file !== null) chunks.push(part.file.chunk);
  }
  if (metadata === undefined) throw new Error('no metadata came');
  const packed = Buffer.concat(chunks);
  const unpacked = await unpack(packed, { maxCheckoutBytes: 1 << 26, maxCheckoutFiles: 10_000 });
  const env = Object.fromEntries(metadata.env.map(({ name, value }) => [name, value]));
  const all = Object.entries(filesOf(unpacked));
  const files = Object.fromEntries(all.filter(([path]) => !path.startsWith('.git/')));
  return { ...metadata, env, files, hasGit: all.some(([path]) => path.startsWith('.git/')), packed };
}

function filesOf({ tree, contents }: UnpackedArchive): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { path, node } of walk(tree.root, true))
    if (node.kind === 'file') files[path] = Buffer.from(contents.get(node.oid) ?? []).toString();
    else if (node.kind === 'link') files[path] = `-> ${node.target}`;
  return files;
}
