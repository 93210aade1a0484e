import { createServer } from 'node:https';
import type { Server as HttpsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { KubeObject } from '#model';
import { CertificateAuthority } from './support/certificates.ts';

interface ConversionReview {
  readonly apiVersion: string;
  readonly kind: string;
  readonly request: {
    readonly uid: string;
    readonly desiredAPIVersion: string;
    readonly objects: readonly KubeObject[];
  };
}

/** A webhook on loopback that converts custom resources between the versions of their kind. */
export class ConversionServer {
  /** `spec.conversion` of the definitions that use it. */
  readonly conversion: object;
  readonly #server: HttpsServer;

  private constructor(server: HttpsServer, conversion: object) {
    this.#server = server;
    this.conversion = conversion;
  }

  /** @param folder for its certificate */
  static async start(
    folder: string,
    convert: (object: KubeObject, apiVersion: string) => KubeObject,
  ): Promise<ConversionServer> {
    const authority = await CertificateAuthority.create(folder);
    await authority.server('conversion');
    const tls = { cert: authority.read('conversion.crt'), key: authority.read('conversion.key') };
    const server = createServer(tls, (request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => {
        const { apiVersion, kind, request: asked } = JSON.parse(body) as ConversionReview;
        const convertedObjects = asked.objects.map((object) => convert(object, asked.desiredAPIVersion));
        const answer = { uid: asked.uid, result: { status: 'Success' }, convertedObjects };
        response.end(JSON.stringify({ apiVersion, kind, response: answer }));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const clientConfig = { url: `https://127.0.0.1:${port}/`, caBundle: Buffer.from(authority.ca).toString('base64') };
    return new ConversionServer(server, {
      strategy: 'Webhook',
      webhook: { clientConfig, conversionReviewVersions: ['v1'] },
    });
  }

  close(): void {
    this.#server.close();
  }
}
