import { projectOf } from './application.ts';
import type { Application } from './application.ts';
import { splitAppKey } from './names.ts';
import type { AppKey } from './names.ts';

/** The fields by which log lines name an Application (Argo CD: util/app/log GetAppLogFields). */
export interface AppLogFields {
  readonly application: string;
  readonly 'app-namespace': string;
  readonly project?: string;
}

export function appLogFields(app: Application): AppLogFields {
  const { name = '', namespace = '' } = app.metadata;
  return { application: name, 'app-namespace': namespace, project: projectOf(app) };
}

/** {@link appLogFields} for an Application of which only the key is known. */
export function appKeyLogFields(key: AppKey): AppLogFields {
  const { namespace, name } = splitAppKey(key);
  return { application: name, 'app-namespace': namespace };
}
