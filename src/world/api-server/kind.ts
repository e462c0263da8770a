/** What the server knows of a resource: how it is called, and which rules its objects follow. */
import type { ApiObject, JsonRecord } from './object.ts';
import type { Shape } from './shapes.ts';
import type { FieldErrors } from './status-error.ts';
import type { Conversion } from './store.ts';

/** What rules may ask of the rest of the server. */
export interface RuleContext {
  nowMs: () => number;
  random: () => number;
  /** What the admission plugin adds to pods that do not say it themselves. */
  tolerationSeconds: number;
  /** An object of another resource, by the id of its storage. */
  lookup: (storage: string, namespace: string | undefined, name: string) => ApiObject | undefined;
  all: (storage: string) => Iterable<ApiObject>;
  /** False where a test has switched a feature off. */
  has: (feature: Feature) => boolean;
}

export type NameRule = 'label' | 'subdomain' | 'path' | 'label1035';

export interface Rules {
  /** The status is written through its subresource only. */
  hasStatus?: boolean;
  /** Counts changes of the spec. */
  hasGeneration?: boolean;
  /** A change of annotations counts as one, too. */
  countsAnnotations?: boolean;
  /** What a write of the status may change of the metadata. Built-in types are lenient, for historical reasons. */
  statusMetadata?: 'free' | 'kept';
  createOnUpdate?: boolean;
  /** False: a replacement has to say which version it replaces. */
  unconditionalUpdate?: boolean;
  /** The answer to a deletion is the object, not a Status. */
  returnsDeleted?: boolean;
  name?: NameRule;
  /** Refuses what no decoder could read. */
  decode?: (body: JsonRecord) => void;
  /** Changes the object, which belongs to the request. */
  defaults?: (object: ApiObject) => void;
  prepareCreate?: (object: ApiObject, context: RuleContext) => void;
  prepareUpdate?: (next: ApiObject, old: ApiObject, context: RuleContext) => void;
  prepareStatus?: (next: ApiObject, old: ApiObject, context: RuleContext) => void;
  validate?: (object: ApiObject, errors: FieldErrors, context: RuleContext) => void;
  /** Where a new object is judged otherwise than a changed one. */
  validateCreate?: (object: ApiObject, errors: FieldErrors) => void;
  validateUpdate?: (next: ApiObject, old: ApiObject, errors: FieldErrors, context: RuleContext) => void;
  validateStatus?: (next: ApiObject, old: ApiObject, errors: FieldErrors) => void;
  /** A deletion gives its owner time to end what it stands for. */
  graceful?: boolean;
  /** Fields that selectors may name, besides name and namespace. */
  fields?: Record<string, (object: ApiObject) => string>;
  shape?: Shape;
  /** Custom resources: drops what the schema does not know, in place, and answers its paths. */
  prune?: (object: ApiObject) => string[];
}

export interface Kind {
  group: string;
  version: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  verbs: string[];
  subresources: string[];
  /** Versions of a resource share their storage. */
  storage: string;
  custom: boolean;
  rules: Rules;
  /** Custom resources: as it is published. */
  schema?: JsonRecord;
  /** Custom resources: what a table shows. */
  columns?:
    | { name: string; type: string; jsonPath: string; format?: string; description?: string; priority?: number }[]
    | undefined;
  toStored?: Conversion;
  fromStored?: Conversion;
  /** Path of replicas, status replicas and label selector, where there is a scale subresource. */
  scale?: { replicas: string; statusReplicas: string; selector?: string };
}

export function apiVersionOf(kind: Pick<Kind, 'group' | 'version'>): string {
  return kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;
}

/**
 * Features that a test can take away, to see that the contract suite notices. Each stands where the behaviour is.
 */
export const features = [
  'admission',
  'admissionKeeps',
  'alreadyExists',
  'applyAtomic',
  'applyConflicts',
  'applyCreates',
  'applyForce',
  'applyHolds',
  'applyLists',
  'applyManager',
  'applyMerges',
  'applyRemoves',
  'applyShares',
  'applyType',
  'attachmentStatus',
  'bareItems',
  'binding',
  'bookmarks',
  'bookmarksOnDemand',
  'budgetGeneration',
  'budgetPhases',
  'budgetSelector',
  'budgets',
  'celBlocked',
  'celRules',
  'compaction',
  'conflicts',
  'continue',
  'crdDefaults',
  'crdPruning',
  'crdSchema',
  'crdServing',
  'crdStrict',
  'createOnUpdate',
  'createOnUpdateOnlySome',
  'createdCode',
  'creationTimes',
  'customItems',
  'customStrategic',
  'dateHeader',
  'decoding',
  'defaults',
  'deleteCollection',
  'deletedObject',
  'deletedStatus',
  'deletion',
  'deletionFinalizers',
  'disruptionTarget',
  'dryRun',
  'duplicateTaints',
  'errorDetails',
  'eventFaces',
  'eviction',
  'evictionTarget',
  'exactLists',
  'fieldSelectors',
  'finalizers',
  'futureVersions',
  'generateName',
  'generation',
  'graceHolds',
  'graceOnlyShortens',
  'graceShortening',
  'graceZero',
  'gracefulDeletion',
  'gracefulWrite',
  'immutability',
  'immutabilityOnlySome',
  'initialEvents',
  'jobSelector',
  'jsonPatch',
  'jsonPatchPaths',
  'jsonPatchTest',
  'jsonPatchValues',
  'labelSelectors',
  'leaseTimes',
  'limit',
  'listMeta',
  'listOrder',
  'managedFields',
  'mediaTypes',
  'mergePatch',
  'mergePatchNulls',
  'metadataGuards',
  'nameFormat',
  'namespaceLabel',
  'namespaceLifecycle',
  'namespaceScope',
  'nodeStatus',
  'noopWrites',
  'notFoundPatch',
  'owners',
  'patchDirectives',
  'podStatus',
  'preconditionValues',
  'preconditions',
  'propagation',
  'replacement',
  'requiredName',
  'revisions',
  'scale',
  'selectorTransitions',
  'setElementOrder',
  'statusGeneration',
  'statusIsolation',
  'statusMetadata',
  'statusMetadataKept',
  'storageProtection',
  'strategicAtomic',
  'strategicLists',
  'strategicNulls',
  'strictTypes',
  'systemNamespaces',
  'taintKeys',
  'terminalPods',
  'twoBudgets',
  'typeChecks',
  'typeMeta',
  'uidConflicts',
  'uids',
  'unconditionalUpdates',
  'unknownPaths',
  'unreadyPods',
  'unscheduledPods',
  'validation',
  'versionOnCreate',
  'versionParameter',
  'watchDeletes',
  'watchObjects',
  'watchReplay',
  'watchScope',
  'watchStart',
  'watchState',
  'watchTimeout',
  'watchTypes',
] as const;
export type Feature = (typeof features)[number];
