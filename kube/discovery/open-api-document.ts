import type { Json } from '#base';
import type { CallOptions, KubeClient } from '../types.ts';

/** The path of an API version ("v1", "apps/v1") in the server's index of OpenAPI v3 documents. */
export function openApiPath(apiVersion: string): string {
  return apiVersion.includes('/') ? `apis/${apiVersion}` : `api/${apiVersion}`;
}

/** The OpenAPI v3 document of an API version. Undefined if the server publishes none. */
export async function readOpenApiDocument(
  client: Pick<KubeClient, 'openApiIndex' | 'openApiDocument'>,
  apiVersion: string,
  options: CallOptions,
): Promise<Json | undefined> {
  const path = openApiPath(apiVersion);
  const hash = (await client.openApiIndex(options)).get(path);
  return hash === undefined ? undefined : client.openApiDocument(path, hash, options);
}
