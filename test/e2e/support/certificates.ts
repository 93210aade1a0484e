import { writeFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { mustRun } from './tools.ts';

/**
 * A certificate authority in a folder, for the server and client certificates of one API server.
 */
export class CertificateAuthority {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async create(folder: string): Promise<CertificateAuthority> {
    const authority = new CertificateAuthority(folder);
    await authority.#key('ca');
    await authority.#openssl([
      'req',
      '-x509',
      '-new',
      '-key',
      'ca.key',
      '-subj',
      '/CN=driftless-e2e',
      '-days',
      '2',
      '-out',
      'ca.crt',
    ]);
    return authority;
  }

  /** The CA certificate as PEM. */
  get ca(): string {
    return this.read('ca.crt');
  }

  /** Creates an elliptic private key `<name>.key`. */
  async keyPair(name: string): Promise<string> {
    await this.#key(name);
    return this.path(`${name}.key`);
  }

  /** Creates `<name>.crt` for a server on loopback and at the first service address, for pods. */
  async server(name: string): Promise<void> {
    const names = 'IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc';
    await this.#sign(name, `/CN=${name}`, `extendedKeyUsage=serverAuth\nsubjectAltName=${names}\n`);
  }

  /** Creates `<name>.crt` for a client with this user and these groups. */
  async client(name: string, user: string, groups: readonly string[]): Promise<{ cert: string; key: string }> {
    const subject = `${groups.map((group) => `/O=${group}`).join('')}/CN=${user}`;
    await this.#sign(name, subject, 'extendedKeyUsage=clientAuth\n');
    return { cert: this.read(`${name}.crt`), key: this.read(`${name}.key`) };
  }

  path(file: string): string {
    return join(this.folder, file);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  async #sign(name: string, subject: string, extensions: string): Promise<void> {
    await this.#key(name);
    writeFileSync(this.path(`${name}.ext`), extensions);
    await this.#openssl(['req', '-new', '-key', `${name}.key`, '-subj', subject, '-out', `${name}.csr`]);
    const signing = ['-CA', 'ca.crt', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
    await this.#openssl(['x509', '-req', '-in', `${name}.csr`, ...signing, '-out', `${name}.crt`]);
  }

  async #key(name: string): Promise<void> {
    await this.#openssl(['ecparam', '-name', 'prime256v1', '-genkey', '-noout', '-out', `${name}.key`]);
  }

  async #openssl(args: readonly string[]): Promise<void> {
    await mustRun('openssl', args, { cwd: this.folder });
  }
}
