import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { startWebServer } from './web-server.ts';
import type { ServedPage, WebServer } from './web-server.ts';

/** A registry on loopback with the read half of the distribution API. */
export interface TestRegistry {
  readonly server: WebServer;
  /** host:port */
  readonly host: string;
  /** Stores an artifact under tags, and returns the digest of its manifest. */
  push(name: string, tags: readonly string[], artifact: OciArtifact): string;
  /** Requires a token from now on, which this login can get. */
  demandToken(username: string, password: string): void;
}

export interface OciArtifact {
  readonly configType?: string;
  readonly layers: readonly { readonly mediaType: string; readonly content: Uint8Array }[];
}

export const chartLayer = 'application/vnd.cncf.helm.chart.content.v1.tar+gzip';
export const tarLayer = 'application/vnd.oci.image.layer.v1.tar+gzip';

export function chartArtifact(content: Uint8Array): OciArtifact {
  return { configType: 'application/vnd.cncf.helm.config.v1+json', layers: [{ mediaType: chartLayer, content }] };
}

/** Tags per page: few, so that tests get several pages. */
const pageSize = 2;

export async function startRegistry(): Promise<TestRegistry> {
  const server = await startWebServer();
  const tagged = new Map<string, string[]>();
  let demanded: string | undefined;
  const guarded =
    (answer: ServedPage): ((request: IncomingMessage) => ServedPage) =>
    ({ headers }) =>
      demanded === undefined || headers.authorization === 'Bearer good' ? answer : challenge(server.url);
  const put = (path: string, body: Uint8Array, type: string): string => {
    const digest = `sha256:${createHash('sha256').update(body).digest('hex')}`;
    server.pages.set(`${path}/${digest}`, guarded({ headers: describing(type, digest), body }));
    return digest;
  };
  const list = (name: string): void => {
    const tags = tagged.get(name) ?? [];
    for (let from = 0; from === 0 || from < tags.length; from += pageSize) {
      const next = `/v2/${name}/tags/list?n=1000&last=${from + pageSize}`;
      const headers = from + pageSize < tags.length ? { link: `<${next}>; rel="next"` } : {};
      const body = JSON.stringify({ name, tags: tags.slice(from, from + pageSize) });
      const query = from === 0 ? 'n=1000' : `n=1000&last=${from}`;
      for (const asked of from === 0 ? [`?${query}`, ''] : [`?${query}`])
        server.pages.set(`/v2/${name}/tags/list${asked}`, guarded({ headers, body }));
    }
  };
  return {
    server,
    host: new URL(server.url).host,
    push: (name, tags, { configType = 'application/vnd.oci.empty.v1+json', layers }) => {
      const config = put(`/v2/${name}/blobs`, Buffer.from('{}'), 'application/json');
      const manifest = {
        schemaVersion: 2,
        mediaType: 'application/vnd.oci.image.manifest.v1+json',
        config: { mediaType: configType, digest: config, size: 2 },
        layers: layers.map(({ mediaType, content }) => ({
          mediaType,
          size: content.length,
          digest: put(`/v2/${name}/blobs`, content, 'application/octet-stream'),
        })),
      };
      const body = Buffer.from(JSON.stringify(manifest));
      const digest = put(`/v2/${name}/manifests`, body, manifest.mediaType);
      for (const tag of tags) {
        const headers = describing(manifest.mediaType, digest);
        server.pages.set(`/v2/${name}/manifests/${tag}`, guarded({ headers, body }));
        tagged.set(name, [...(tagged.get(name) ?? []).filter((one) => one !== tag), tag]);
      }
      list(name);
      return digest;
    },
    demandToken: (username, password) => {
      demanded = `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
      for (const name of tagged.keys())
        server.pages.set(
          `/token?service=test&scope=repository%3A${name.replaceAll('/', '%2F')}%3Apull`,
          ({ headers }) =>
            headers.authorization === demanded ? { body: '{"token":"good","expires_in":300}' } : { status: 401 },
        );
    },
  };
}

function describing(type: string, digest: string): Readonly<Record<string, string>> {
  return { 'content-type': type, 'docker-content-digest': digest };
}

function challenge(url: string): ServedPage {
  return { status: 401, headers: { 'www-authenticate': `Bearer realm="${url}/token",service="test",scope="x"` } };
}
