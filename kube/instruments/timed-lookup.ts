import { lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { Clock } from '#base';
import type { ClientInstruments } from './client-instruments.ts';

/** Resolves names as Node does, and measures it. Addresses are not looked up. */
export function timedLookup(clock: Pick<Clock, 'monotonic'>, instruments: ClientInstruments): LookupFunction {
  return (host, options, callback) => {
    const started = clock.monotonic();
    lookup(host, options, (error, address, family) => {
      instruments.resolved(host, clock.monotonic() - started);
      callback(error, address, family);
    });
  };
}
