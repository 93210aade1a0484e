import { connect } from 'node:net';
import { argv, env, stderr, stdin, stdout } from 'node:process';

// ssh runs this as its ProxyCommand: connects to a host by a SOCKS 5 proxy (RFC 1928, RFC 1929) and passes bytes on. It stands alone, so
// that it starts quickly.

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

function give(text: string): never {
  stderr.write(`driftless: cannot reach ${host}:${port} through the proxy ${proxyHost}:${proxyPort}: ${text}\n`);
  // The process has one task.
  return process.exit(1);
}

const socket = connect(Number(proxyPort), proxyHost);
const limit = setTimeout(() => give('it does not answer'), 15_000);
socket.on('error', (error) => give(error.message));
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

function short(text: string): Buffer {
  const content = Buffer.from(text);
  if (content.length > 255) give('a name is too long');
  return Buffer.concat([Buffer.from([content.length]), content]);
}

socket.write(user === undefined ? Buffer.from([5, 1, 0]) : Buffer.from([5, 2, 0, 2]));
const [version, method] = await bytes(2);
if (version !== 5) give('it does not speak SOCKS 5');
if (method === 2 && user !== undefined) {
  socket.write(Buffer.concat([Buffer.from([1]), short(user), short(password)]));
  if ((await bytes(2))[1] !== 0) give('it refuses user and password');
} else if (method !== 0) give('it wants credentials that are not there');
const target = Buffer.alloc(2);
target.writeUInt16BE(Number(port));
socket.write(Buffer.concat([Buffer.from([5, 1, 0, 3]), short(host), target]));
const [, status = 1, , kind] = await bytes(4);
if (status !== 0) give(reasons[status - 1] ?? 'the proxy does not say why');
await bytes((kind === 1 ? 4 : kind === 4 ? 16 : ((await bytes(1))[0] ?? 0)) + 2);
clearTimeout(limit);
socket.off('data', onData);
stdout.write(rest);
socket.pipe(stdout);
stdin.pipe(socket);
