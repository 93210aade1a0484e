export interface HashedFile {
  readonly name: string;
  readonly sha256: string;
}

export interface ProvenanceFacts {
  readonly files: readonly HashedFile[];
  readonly version: string;
  readonly revision: string;
  readonly materials: readonly HashedFile[];
  readonly finishedAt: string;
}

export interface ProvenanceStatement {
  readonly _type: string;
  readonly subject: readonly { readonly name: string; readonly digest: { readonly sha256: string } }[];
  readonly predicateType: string;
  readonly predicate: {
    readonly buildDefinition: {
      readonly resolvedDependencies: readonly {
        readonly uri: string;
        readonly digest: Readonly<Record<string, string>>;
      }[];
    };
  };
}

export const provenanceFile: string;
export function provenanceOf(facts: ProvenanceFacts): ProvenanceStatement;
export function provenanceFaults(
  statement: Pick<ProvenanceStatement, 'subject'>,
  files: readonly HashedFile[],
): readonly string[];
