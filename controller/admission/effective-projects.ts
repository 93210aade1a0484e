import { hashJson } from '#base';
import { asProject, jsonOf } from '#model';
import type { AppProject, KubeObject } from '#model';
import { effectiveProject, globalProjectFault } from '#policy';
import { SettingsUnreadable } from '../shared/errors.ts';

type ProjectSources = Parameters<typeof effectiveProject>[1];

/** An effective project, and all that it was made from. */
interface KnownProject {
  readonly inputs: readonly unknown[];
  readonly fault: string | undefined;
  /** By the URLs of the repositories of the project that an Application names. */
  readonly byUrls: Map<string, AppProject>;
}

const maxUrlLists = 100;

/**
 * Effective projects, made once for the same stored objects: thousands of Applications share one,
 * and each pass needs it several times. Values are compared by identity, because the informers
 * and the settings never change them in place.
 */
export class EffectiveProjects {
  readonly #read = new WeakMap<KubeObject, AppProject>();
  readonly #known = new WeakMap<AppProject, KnownProject>();
  readonly #versions = new WeakMap<AppProject, string>();

  read(object: KubeObject): AppProject {
    const known = this.#read.get(object) ?? asProject(object);
    this.#read.set(object, known);
    return known;
  }

  /**
   * Like {@link effectiveProject}.
   * @throws SettingsUnreadable when it is unknown what global projects deny.
   */
  of(stored: AppProject, sources: ProjectSources): AppProject {
    const { globalProjects, clusters, lookup, repositories } = sources;
    const inputs = [globalProjects, clusters, ...globalProjects.map(({ projectName }) => lookup(projectName))];
    let known = this.#known.get(stored);
    if (known === undefined || !isSameList(known.inputs, inputs)) {
      known = { inputs, fault: globalProjectFault(stored, sources), byUrls: new Map() };
      this.#known.set(stored, known);
    }
    if (known.fault !== undefined)
      throw new SettingsUnreadable(`${known.fault}; Applications that it concerns are not written until this is fixed`);
    const own = repositories.filter(({ project }) => project === (stored.metadata.name ?? ''));
    const urls = own.length === 0 ? '' : JSON.stringify(own.map(({ url }) => url));
    let project = known.byUrls.get(urls);
    if (project === undefined) {
      project = effectiveProject(stored, sources);
      // Tenants choose the URLs.
      if (known.byUrls.size >= maxUrlLists) known.byUrls.clear();
      known.byUrls.set(urls, project);
    }
    return project;
  }

  /** Equal for projects with equal names and rules. */
  versionOf(project: AppProject): string {
    const known = this.#versions.get(project) ?? hashJson(jsonOf([project.metadata.name ?? '', project.spec]));
    this.#versions.set(project, known);
    return known;
  }
}

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a.length === b.length && a.every((value, i) => value === b[i]);
}
