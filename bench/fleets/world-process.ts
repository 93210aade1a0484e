import { serveObject } from '../fleet/remote.ts';
import { SimFleet } from './sim-fleet.ts';

// The process of the simulated hub and clusters.
serveObject(new SimFleet());
