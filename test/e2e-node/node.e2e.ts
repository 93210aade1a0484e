import { afterAll, beforeAll, describe } from '@jest/globals';
import { activity } from './scenarios/activity.ts';
import { agent } from './scenarios/agent.ts';
import { autoscaling } from './scenarios/autoscaling.ts';
import { drain } from './scenarios/drain.ts';
import { dropIn } from './scenarios/drop-in.ts';
import { install } from './scenarios/install.ts';
import { plugins } from './scenarios/plugins.ts';
import { releases } from './scenarios/releases.ts';
import { reinstall } from './scenarios/reinstall.ts';
import { rights } from './scenarios/rights.ts';
import { restarts } from './scenarios/restarts.ts';
import { scale } from './scenarios/scale.ts';
import { security } from './scenarios/security.ts';
import { sources } from './scenarios/sources.ts';
import { ssh } from './scenarios/ssh.ts';
import { two } from './scenarios/two.ts';
import { Cluster } from './support/cluster.ts';
import { upgrade } from './scenarios/upgrade.ts';
import { walls } from './scenarios/walls.ts';
import { startWorld } from './support/world.ts';

// One cluster for all scenarios, because the import of the image takes longest. They run in this
// order; every one leaves the release of docs/install.md and its Application in good state.
const cluster = new Cluster();

beforeAll(async () => {
  cluster.world = await startWorld();
}, 300_000);

afterAll(() => cluster.close(), 60_000);

describe('install', () => install(cluster));
describe('security', () => security(cluster));
describe('sources', () => sources(cluster));
describe('activity', () => activity(cluster));
describe('agent', () => agent(cluster));
describe('restarts', () => restarts(cluster));
describe('scale', () => scale(cluster));
describe('drain', () => drain(cluster));
describe('ssh', () => ssh(cluster));
describe('reinstall', () => reinstall(cluster));
describe('two releases', () => two(cluster));
describe('releases', () => releases(cluster));
describe('rights', () => rights(cluster));
describe('drop-in', () => dropIn(cluster));
describe('plugins', () => plugins(cluster));
describe('walls', () => walls(cluster));
describe('autoscaling', () => autoscaling(cluster));
describe('upgrade', () => upgrade(cluster));
