import { serveObject } from './remote.ts';
import { SimServers } from './servers.ts';

// The process of the simulated servers.
serveObject(new SimServers());
