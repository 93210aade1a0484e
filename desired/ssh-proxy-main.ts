import { connect } from 'node:net';
import { argv, env, stderr, stdin, stdout } from 'node:process';

// ssh runs this as its ProxyCommand: it connects to a host through a SOCKS 5 proxy (RFC 1928, RFC
// 1929) and forwards bytes. It imports nothing of ours, so that it starts quickly.

const [proxyHost = '', proxyPort = '', host = '', port = ''] = argv.slice(2);
const { SOCKS5_USER: user, SOCKS5_PASSWD: password = '' } = env;

const reasons = [
  'the proxy failed',
  'its rules do not allow it',
  'the network cannot be reached',
  'the host cannot be reached',
  'the connection was refused',
  'it took too long',
];

function fail(text: string): never {
  stderr.write(`driftless: cannot reach ${host}:${port} through the proxy ${proxyHost}:${proxyPort}: ${text}\n`);
  return process.exit(1);
}

const socket = connect(Number(proxyPort), proxyHost);
const limit = setTimeout(() => fail('it does not answer'), 15_000);
socket.on('error', (error) => fail(error.message));
socket.on('close', () => process.exit(0));

let rest: Buffer = Buffer.alloc(0);
let wake: () => void = () => undefined;
const onData = (chunk: Buffer): void => {
  rest = Buffer.concat([rest, chunk]);
  wake();
};
socket.on('data', onData);

async function bytes(count: number): Promise<Buffer> {
  while (rest.length < count)
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  const taken = rest.subarray(0, count);
  rest = rest.subarray(count);
  return taken;
}

function lengthPrefixed(text: string): Buffer {
  const content = Buffer.from(text);
  if (content.length > 255) fail('a name is too long');
  return Buffer.concat([Buffer.from([content.length]), content]);
}

socket.write(user === undefined ? Buffer.from([5, 1, 0]) : Buffer.from([5, 2, 0, 2]));
const [version, method] = await bytes(2);
if (version !== 5) fail('it does not speak SOCKS 5');
if (method === 2 && user !== undefined) {
  socket.write(Buffer.concat([Buffer.from([1]), lengthPrefixed(user), lengthPrefixed(password)]));
  if ((await bytes(2))[1] !== 0) fail('it refuses user and password');
} else if (method !== 0) fail('it wants credentials that are not there');
const target = Buffer.alloc(2);
target.writeUInt16BE(Number(port));
socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3]), lengthPrefixed(host), target]));
const [, status = 1, , kind] = await bytes(4);
if (status !== 0) fail(reasons[status - 1] ?? 'the proxy does not say why');
await bytes((kind === 1 ? 4 : kind === 4 ? 16 : ((await bytes(1))[0] ?? 0)) + 2);
clearTimeout(limit);
socket.off('data', onData);
stdout.write(rest);
socket.pipe(stdout);
stdin.pipe(socket);
