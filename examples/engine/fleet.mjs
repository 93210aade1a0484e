// Three processes share six items over two documents; one of them leaves.
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { joinFleet } from '@driftless/engine/sharding';

const items = ['a', 'b', 'c', 'd', 'e', 'f'];
const [, , name, url] = process.argv;
if (name === undefined) await startFleet();
else await runMember();

/** One process of the fleet: reports what it owns, until it is asked to leave. */
async function runMember() {
  const documents = {
    read: async (document, signal) => {
      const answer = await fetch(`${url}/${document}`, { signal });
      return answer.ok ? { content: await answer.text(), version: answer.headers.get('etag') } : undefined;
    },
    write: async (document, body, version, signal) => {
      const headers = version === undefined ? { 'if-none-match': '*' } : { 'if-match': version };
      const answer = await fetch(`${url}/${document}`, { method: 'PUT', body, headers, signal });
      if (answer.status === 412) return undefined; // another member was faster
      if (!answer.ok) throw new Error(`the store answers ${answer.status}`);
      return answer.headers.get('etag');
    },
  };
  const member = joinFleet({ documents, name, members: 2, algorithm: 'round-robin', heartbeatMs: 1000 });
  const report = () => process.send({ name, owned: items.filter((item) => member.owns(item)) });
  member.onChange(report);
  member.setItems(items);
  const order = await new Promise((resolve) => process.once('message', resolve));
  if (order === 'write and leave')
    await member.write('a', async (check) => {
      check(); // right before each request is sent
      process.send({ name, written: 'a' });
    });
  await member.leave();
  process.disconnect();
}

/** The store, which stands for your database or bucket, and three members. */
async function startFleet() {
  const stored = new Map();
  let writes = 0;
  const store = createServer(async (request, response) => {
    const { method, url: path, headers } = request;
    const etag = stored.get(path)?.etag;
    let content = '';
    for await (const part of request) content += part;
    if (method === 'GET') return response.writeHead(etag ? 200 : 404, etag && { etag }).end(stored.get(path)?.content);
    if (headers['if-match'] !== stored.get(path)?.etag) return response.writeHead(412).end();
    stored.set(path, { content, etag: String((writes += 1)) });
    return response.writeHead(200, { etag: String(writes) }).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => store.once('listening', resolve));
  const address = `http://127.0.0.1:${store.address().port}`;

  const owned = new Map();
  let changed = () => {};
  const members = ['one', 'two', 'three'].map((one) => {
    const member = fork(fileURLToPath(import.meta.url), [one, address]);
    member.on('message', (message) => {
      if (message.written) console.log(`${message.written} was written`);
      else owned.set(message.name, message.owned);
      changed();
    });
    member.once('exit', () => owned.delete(one));
    return { one, member };
  });
  const isShared = () => [...owned.values()].flat().sort().join() === items.join();
  const until = (condition) =>
    new Promise((resolve) => {
      changed = () => condition() && resolve();
      changed();
    });

  // The first member may own everything until the second has come.
  const counts = () => [...owned.values()].map((own) => own.length).filter(Boolean);
  await until(() => isShared() && counts().length === 2);
  console.log(`${counts()} items, one member stands by`);
  const leaving = members.find(({ one }) => owned.get(one)?.includes('a'));
  leaving.member.send('write and leave');
  await until(() => isShared() && !owned.get(leaving.one)?.length);
  console.log('a has another owner, and everything has one');
  for (const { member } of members.filter((other) => other !== leaving)) member.send('leave');
  await Promise.all(
    members.map(({ member }) => member.exitCode ?? new Promise((resolve) => member.once('exit', resolve))),
  );
  store.close();
}
