/** support: what tests share. Virtual time, builders, programs and plain HTTP for acceptance. Production code never imports it. */
export { eventually } from './eventually.ts';
export { FakeClock } from './fake-clock.ts';
export { RawApi, serversOf } from './hub.ts';
export { driftless, Program } from './program.ts';
export type { Finished } from './program.ts';
