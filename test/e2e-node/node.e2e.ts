import { afterAll, beforeAll, describe } from '@jest/globals';
import { install } from './scenarios/install.ts';
import { Cluster } from './support/cluster.ts';
import { startWorld } from './support/world.ts';

// One cluster for all scenarios, because the import of the image takes longest. They run in this
// order; every one leaves the release of docs/install.md and its Application in good state.
const cluster = new Cluster();

beforeAll(async () => {
  cluster.world = await startWorld();
}, 300_000);

afterAll(() => cluster.close(), 60_000);

describe('install', () => install(cluster));
