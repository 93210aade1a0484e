import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis, RedisOptions } from 'ioredis';
import { defined, messageOf, outsideText, SecretValue } from '#base';
import type { Clock } from '#base';
import { faultOf, StoreError } from './link.ts';
import type { OpenLink, RedisLink } from './link.ts';
import type { StoreMetrics } from './metrics.ts';

/** User and password of Redis and of its sentinels; empty ones are not sent. */
export interface RedisCredentials {
  readonly username: string;
  readonly password: SecretValue;
  readonly sentinelUsername: string;
  readonly sentinelPassword: SecretValue;
}

/** Paths of PEM files; empty: none. Read for each connection, so that renewed files take effect. */
export interface TlsFiles {
  readonly certificate: string;
  readonly key: string;
  readonly ca: string;
  readonly insecureSkipVerify: boolean;
}

export interface ConnectionOptions {
  /** `host:port`. */
  readonly address: string;
  /** `host:port` each; if there are any, `address` is not used. */
  readonly sentinels: readonly string[];
  readonly sentinelMaster: string;
  readonly database: number;
  /** Credentials from the environment. */
  readonly credentials: RedisCredentials;
  /**
   * Folder with the files `auth`, `auth_username`, `sentinel_auth` and `sentinel_username`, used
   * instead of `credentials`. Empty: none.
   */
  readonly credentialsDir: string;
  /** Undefined: no TLS. */
  readonly tls: TlsFiles | undefined;
}

type ClientOptions = RedisOptions & { readonly replyMapping: 'legacy' };

const connectMs = 5000;

/**
 * Opens connections with ioredis, which is loaded on first use. Each connection is used until it
 * ends. ioredis neither reconnects nor queues commands: a queued command could be sent after this
 * replica lost ownership.
 */
export function redisConnector(options: ConnectionOptions, metrics: StoreMetrics, clock: Clock): OpenLink {
  return async (signal) => {
    const { Redis: Client } = await import('ioredis');
    const credentials = await currentCredentials(options);
    const redis = new Client(await clientOptions(options, credentials));
    const hidden = [credentials.password.reveal(), credentials.sentinelPassword.reveal()];
    const connection = new RedisConnection(redis, metrics, clock, hidden);
    const stop = (): void => connection.close(new StoreError('connection', messageOf(signal.reason)));
    signal.addEventListener('abort', stop, { once: true });
    try {
      await connection.open(credentials, options.database);
      signal.throwIfAborted();
      return connection;
    } catch (error) {
      stop();
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  };
}

async function currentCredentials({ credentials, credentialsDir }: ConnectionOptions): Promise<RedisCredentials> {
  if (credentialsDir === '') return credentials;
  const content = async (name: string): Promise<string> => {
    try {
      return (await readFile(join(credentialsDir, name), 'utf8')).trim();
    } catch (error) {
      // A missing file means an empty value, as in Argo CD.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
      throw new StoreError('auth', `cannot read the credentials of Redis: ${messageOf(error)}`);
    }
  };
  return {
    username: await content('auth_username'),
    password: new SecretValue(await content('auth')),
    sentinelUsername: await content('sentinel_username'),
    sentinelPassword: new SecretValue(await content('sentinel_auth')),
  };
}

async function clientOptions(options: ConnectionOptions, credentials: RedisCredentials): Promise<ClientOptions> {
  const tls = options.tls === undefined ? undefined : await tlsOptions(options.tls);
  const { sentinelUsername: user, sentinelPassword: password } = credentials;
  const common: ClientOptions = {
    replyMapping: 'legacy',
    lazyConnect: true,
    protocol: 2,
    enableOfflineQueue: false,
    enableReadyCheck: false,
    disableClientInfo: true,
    autoResubscribe: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    retryStrategy: null,
    // Commands must not be sent after a connection was given up.
    disconnectTimeout: 1,
    connectTimeout: connectMs,
    // A name may resolve to both address families, one of them unreachable.
    family: 0,
    ...defined({ tls }),
  };
  if (options.sentinels.length === 0) return { ...common, ...parseAddress(options.address, 6379) };
  return {
    ...common,
    sentinels: options.sentinels.map((sentinel) => parseAddress(sentinel, 26_379)),
    name: options.sentinelMaster,
    sentinelRetryStrategy: () => null,
    sentinelCommandTimeout: connectMs,
    ...(user === '' ? {} : { sentinelUsername: user }),
    ...(password.reveal() === '' ? {} : { sentinelPassword: password.reveal() }),
    ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  };
}

/** Parses `host`, `host:port` and `[v6]:port`. */
export function parseAddress(text: string, port: number): { readonly host: string; readonly port: number } {
  const { host = text, at } = /^\[?(?<host>[^\]]*?)\]?(?::(?<at>\d+))?$/.exec(text)?.groups ?? {};
  return { host, port: at === undefined ? port : Number(at) };
}

async function tlsOptions(files: TlsFiles): Promise<NonNullable<RedisOptions['tls']>> {
  const pem = async (path: string): Promise<Buffer | undefined> => {
    if (path === '') return undefined;
    try {
      return await readFile(path);
    } catch (error) {
      throw new StoreError('auth', `cannot read a TLS file for Redis: ${messageOf(error)}`);
    }
  };
  const [cert, key, ca] = [await pem(files.certificate), await pem(files.key), await pem(files.ca)];
  return {
    rejectUnauthorized: !files.insecureSkipVerify,
    ...defined({ cert, key, ca }),
  };
}

class RedisConnection implements RedisLink {
  runId = '';
  readonly ended: Promise<never>;
  readonly #redis: Redis;
  readonly #metrics: StoreMetrics;
  readonly #clock: Clock;
  readonly #hidden: readonly string[];
  #error: StoreError | undefined;
  #end: (error: StoreError) => void = () => undefined;

  constructor(redis: Redis, metrics: StoreMetrics, clock: Clock, hidden: readonly string[]) {
    this.#redis = redis;
    this.#hidden = hidden;
    this.#metrics = metrics;
    this.#clock = clock;
    this.ended = new Promise((_, reject) => {
      this.#end = reject;
    });
    this.ended.catch(() => undefined);
    redis.on('error', (error: unknown) => {
      this.#error ??= storeError(error, this.#hidden);
    });
    redis.on('end', () => this.#end(this.#error ?? new StoreError('connection', 'Redis closed the connection')));
  }

  /** Connects and authenticates; not in ioredis, which would print errors to the console. */
  async open({ username, password }: RedisCredentials, database: number): Promise<void> {
    try {
      await this.#redis.connect();
    } catch (error) {
      // The error event has the reason; the rejection only that the connection is closed.
      throw this.#error ?? storeError(error, this.#hidden);
    }
    const word = password.reveal();
    if (word !== '') {
      await this.#send('auth', () => (username === '' ? this.#redis.auth(word) : this.#redis.auth(username, word)));
    }
    if (database !== 0) await this.#send('select', () => this.#redis.select(database));
    this.runId = await this.#whichProcess();
  }

  async set(key: string, value: Buffer, ttlMs: number): Promise<void> {
    await this.#send('set', () => this.#redis.set(key, value, 'PX', Math.round(ttlMs)));
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#send('del', () => this.#redis.del([...keys]));
  }

  async publish(channel: string): Promise<void> {
    await this.#send('publish', () => this.#redis.publish(channel, ''));
  }

  async count(keys: readonly string[]): Promise<number> {
    return this.#send('exists', () => this.#redis.exists([...keys]));
  }

  async ping(): Promise<void> {
    await this.#send('ping', () => this.#redis.ping());
  }

  close(reason: StoreError): void {
    this.#error ??= reason;
    if (this.#redis.status !== 'end') this.#redis.disconnect();
    this.#end(this.#error);
  }

  async #whichProcess(): Promise<string> {
    try {
      const info = await this.#send('info', () => this.#redis.info('server'));
      return /^run_id:(\S+)/m.exec(info)?.[1] ?? '';
    } catch (error) {
      // Not permitted, or still loading its data: assume nothing about its contents.
      if (error instanceof StoreError && (error.fault === 'forbidden' || error.fault === 'refused')) return '';
      throw error;
    }
  }

  async #send<T>(command: string, send: () => Promise<T>): Promise<T> {
    const began = this.#clock.monotonic();
    let failed = true;
    try {
      const result = await send();
      failed = false;
      return result;
    } catch (error) {
      throw storeError(error, this.#hidden);
    } finally {
      this.#metrics.request(command, failed, this.#clock.monotonic() - began);
    }
  }
}

/**
 * Omits the ioredis error as cause: it contains the command with its arguments, such as a password.
 */
function storeError(error: unknown, hidden: readonly string[]): StoreError {
  if (error instanceof StoreError) return error;
  const reply = error instanceof Error && error.name === 'ReplyError';
  return new StoreError(
    reply ? faultOf(error.message) : 'connection',
    outsideText('rpc', storeErrorMessage(error), { hidden }),
  );
}

/** The arguments that a server repeats for an unknown command: a password, or published data. */
const repeatedArguments = /,? with args beginning with:.*/s;

/** For a host with several addresses, the aggregate error has no text of its own. */
function storeErrorMessage(error: unknown): string {
  const text = messageOf(error).replace(repeatedArguments, '');
  const causes = (error as Partial<AggregateError>).errors;
  return text === '' && causes !== undefined ? causes.map((cause) => messageOf(cause)).join('; ') : text;
}
