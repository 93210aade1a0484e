import type { Clock } from '#base';
import type { Logger } from '#telemetry';
import type { RunCommand } from './command-types.ts';
import type { ClientInstruments } from '../instruments/client-instruments.ts';

export interface CredentialDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly runCommand: RunCommand;
  /** The only plugins allowed; undefined allows any. */
  readonly credentialPlugins?: readonly string[];
  readonly instruments?: Pick<ClientInstruments, 'pluginCalled'>;
}
