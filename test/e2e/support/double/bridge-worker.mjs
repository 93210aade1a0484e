// The worker of bridge.ts: sends one HTTP request at a time and wakes the thread that waits for the
// answer.
import { parentPort, workerData } from 'node:worker_threads';
import { Agent, request } from 'undici';

const { access, flag } = workerData;
const { server, ca, cert, key, token } = access;
const waiting = new Int32Array(flag);
const agent = new Agent({ connect: { ca, cert, key } });

parentPort.on('message', async ({ port, method, path, body }) => {
  let answer;
  try {
    const headers = {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const response = await request(`${server}${path}`, {
      method,
      headers,
      dispatcher: agent,
      headersTimeout: 20_000,
      bodyTimeout: 20_000,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    answer = { status: response.statusCode, text: await response.body.text() };
  } catch (error) {
    answer = { status: 0, text: String(error) };
  }
  port.postMessage(answer);
  Atomics.store(waiting, 0, 1);
  Atomics.notify(waiting, 0);
});
