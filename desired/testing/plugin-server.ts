import { Server, ServerCredentials } from '@grpc/grpc-js';
import type { handleUnaryCall, ServerReadableStream, sendUnaryData } from '@grpc/grpc-js';
import { join } from 'node:path';
import { unpack } from '../fetch/archive.ts';
import type { Unpacked } from '../fetch/archive.ts';
import { walk } from '../fetch/tree.ts';
import { pluginMethods } from '../generate/plugin-client.ts';

/** What a plugin was sent. */
export interface Sent {
  readonly appName: string;
  readonly appRelPath: string;
  readonly checksum: string;
  readonly size: number;
  readonly env: Readonly<Record<string, string>>;
  readonly files: Readonly<Record<string, string>>;
}

export interface PluginBehaviour {
  readonly discovery?: boolean;
  readonly provideGitCreds?: boolean;
  readonly matches?: (sent: Sent) => boolean;
  /** Undefined: never answers. */
  readonly manifests?: (sent: Sent) => readonly string[] | Error | undefined;
}

/** A config management plugin on a socket of its own. */
export interface TestPlugin {
  readonly sent: { readonly method: string; readonly what: Sent }[];
  /** Ends at once, with everything under way. */
  kill(): void;
}

interface Part {
  readonly metadata?: Omit<Sent, 'env' | 'files'> & { readonly env: readonly { name: string; value: string }[] };
  readonly file?: { readonly chunk: Buffer } | null;
}

export async function startPlugin(folder: string, name: string, behaviour: PluginBehaviour): Promise<TestPlugin> {
  const server = new Server();
  const sent: { method: string; what: Sent }[] = [];
  const streamed =
    (method: string, answer: (what: Sent) => object | Error | undefined) =>
    (call: ServerReadableStream<Part, object>, done: sendUnaryData<object>): void => {
      received(call).then(
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
  server.addService(pluginMethods, {
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

async function received(call: ServerReadableStream<Part, object>): Promise<Sent> {
  const chunks: Buffer[] = [];
  let metadata: Part['metadata'];
  for await (const part of call as AsyncIterable<Part>) {
    metadata ??= part.metadata;
    if (part.file !== undefined && part.file !== null) chunks.push(part.file.chunk);
  }
  if (metadata === undefined) throw new Error('no metadata came');
  const unpacked = await unpack(Buffer.concat(chunks), { maxCheckoutBytes: 1 << 26, maxCheckoutFiles: 10_000 });
  const env = Object.fromEntries(metadata.env.map(({ name, value }) => [name, value]));
  return { ...metadata, env, files: filesOf(unpacked) };
}

function filesOf({ tree, contents }: Unpacked): Record<string, string> {
  const files: Record<string, string> = {};
  for (const { path, node } of walk(tree.root, true))
    if (node.kind === 'file') files[path] = Buffer.from(contents.get(node.oid) ?? []).toString();
    else if (node.kind === 'link') files[path] = `-> ${node.target}`;
  return files;
}
