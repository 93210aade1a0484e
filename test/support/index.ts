/** support: what tests share. Virtual time, builders, waiting for real processes. Production code never imports it. */
export { eventually } from './eventually.ts';
export { FakeClock } from './fake-clock.ts';
