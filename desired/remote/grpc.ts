import { createRequire } from 'node:module';
import type * as GrpcJs from '@grpc/grpc-js';
import type * as ProtoLoader from '@grpc/proto-loader';

/** Bundles have no URL of their own: not before the first use. */
function load(name: string): unknown {
  return createRequire(import.meta.url)(name);
}

/** Loaded by the first call: only plugins, a repo-server and a commit server need it. */
export function grpc(): typeof GrpcJs {
  return load('@grpc/grpc-js') as typeof GrpcJs;
}

/** The methods of a service in a description of its messages, as of a .proto file; made once. */
export function serviceMethods(
  described: object,
  name: string,
  options: { readonly longs?: NumberConstructor; readonly defaults: true },
): () => GrpcJs.ServiceDefinition {
  let methods: GrpcJs.ServiceDefinition | undefined;
  return () => {
    if (methods !== undefined) return methods;
    const { fromJSON } = load('@grpc/proto-loader') as typeof ProtoLoader;
    methods = fromJSON(described, options)[name] as GrpcJs.ServiceDefinition;
    return methods;
  };
}

/** Go's name of a code. */
export function codeName(code: number): string {
  const name: string | undefined = grpc().status[code];
  return (name ?? 'Unknown').toLowerCase().replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase());
}
