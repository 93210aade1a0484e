// Three processes share six items over two documents; one of them leaves.
import { setTimeout as sleep } from 'node:timers/promises';
import { joinFleet } from 'driftless/sharding';

const stored = new Map(); // for real fleets: rows, objects or ConfigMaps with a version
let writes = 0;
const documents = {
  read: async (name) => stored.get(name),
  write: async (name, content, version) => {
    if (stored.get(name)?.version !== version) return undefined;
    stored.set(name, { content, version: String((writes += 1)) });
    return String(writes);
  },
};
const items = ['a', 'b', 'c', 'd', 'e', 'f'];
const options = { documents, members: 2, algorithm: 'round-robin', heartbeatMs: 1000 };
const fleet = ['one', 'two', 'three'].map((name) => joinFleet({ ...options, name }));
for (const member of fleet) member.setItems(items);

const owned = (member) => items.filter((item) => member.owns(item));
const isShared = () => fleet.flatMap(owned).length === items.length;
while (!isShared()) await sleep(50);
console.log(`${fleet.map((member) => owned(member).length).sort()} items, one member stands by`);

const leaving = fleet.find((member) => member.owns('a'));
await leaving.write('a', async (check) => {
  check(); // right before each request is sent
  console.log('a was written');
});
await leaving.leave();
while (!isShared()) await sleep(50);
const successor = fleet.find((member) => member.owns('a'));
console.log(`a has ${successor === leaving ? 'the same' : 'another'} owner, and everything has one`);
await Promise.all(fleet.map((member) => member.leave()));
