/** Volumes, claims, and what CSI drivers and their attachers write. */
import { apiTime } from '../../objects/times.ts';
import type { RuleContext, Rules } from '../kind.ts';
import type { ApiObject, JsonRecord } from '../object.ts';
import { at, listOf, recordOf, recordsOf, sameJson, textOf } from '../object.ts';
import type { FieldErrors } from '../status-error.ts';
import { setDefault } from './pod.ts';

function protect(object: ApiObject, finalizer: string, context: RuleContext): void {
  if (!context.has('admission') || !context.has('storageProtection')) return;
  const finalizers = object.metadata.finalizers ?? [];
  if (!finalizers.includes(finalizer)) object.metadata.finalizers = [...finalizers, finalizer];
}

/** Also for the templates of a StatefulSet. */
export function defaultClaim(claim: ApiObject): void {
  setDefault((claim.spec ??= {}), 'volumeMode', 'Filesystem');
}

const accessModes = ['ReadWriteOnce', 'ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOncePod'];

function validateAccessModes(object: ApiObject, errors: FieldErrors): void {
  const modes = listOf(at(object, 'spec', 'accessModes'));
  if (modes.length === 0) errors.required('spec.accessModes', 'at least 1 access mode is required');
  for (const [index, mode] of modes.entries()) {
    if (!accessModes.includes(textOf(mode))) errors.notSupported(`spec.accessModes[${index}]`, mode, accessModes);
  }
}

export const claimRules: Rules = {
  hasStatus: true,
  returnsDeleted: true,
  defaults: defaultClaim,
  prepareCreate(claim, context) {
    claim.status = { phase: 'Pending' };
    protect(claim, 'kubernetes.io/pvc-protection', context);
    if (!context.has('admission') || at(claim, 'spec', 'storageClassName') !== undefined) return;
    for (const storageClass of context.all('storage.k8s.io/storageclasses')) {
      const annotation = storageClass.metadata.annotations?.['storageclass.kubernetes.io/is-default-class'];
      if (annotation === 'true') recordOf(claim.spec)['storageClassName'] = storageClass.metadata.name;
    }
  },
  prepareStatus: (next) => setDefault((next.status ??= {}), 'phase', 'Pending'),
  validate(claim, errors) {
    validateAccessModes(claim, errors);
    if (at(claim, 'spec', 'resources', 'requests', 'storage') === undefined) errors.required('spec.resources[storage]');
  },
  validateUpdate(next, old, errors) {
    const rest = (claim: ApiObject): JsonRecord => {
      const bound = at(old, 'spec', 'volumeName') !== undefined;
      const spec: JsonRecord = { ...claim.spec };
      delete spec['volumeAttributesClassName'];
      // A binder sets the name of the volume once; size may grow once the claim is bound.
      if (!bound) delete spec['volumeName'];
      else delete spec['resources'];
      return spec;
    };
    if (sameJson(rest(next), rest(old))) return;
    const message =
      'spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims';
    errors.forbidden('spec', message);
  },
};

export const volumeRules: Rules = {
  hasStatus: true,
  returnsDeleted: true,
  defaults(volume) {
    const spec = (volume.spec ??= {});
    if (spec['storageClassName'] === '') delete spec['storageClassName'];
    setDefault(spec, 'persistentVolumeReclaimPolicy', 'Retain');
    setDefault(spec, 'volumeMode', 'Filesystem');
  },
  prepareCreate(volume, context) {
    volume.status = { phase: 'Pending', lastPhaseTransitionTime: apiTime(context.nowMs()) };
    protect(volume, 'kubernetes.io/pv-protection', context);
  },
  prepareStatus(next, old, context) {
    const status = (next.status ??= {});
    setDefault(status, 'phase', 'Pending');
    if (status['phase'] !== at(old, 'status', 'phase')) status['lastPhaseTransitionTime'] = apiTime(context.nowMs());
  },
  validate(volume, errors) {
    validateAccessModes(volume, errors);
    if (at(volume, 'spec', 'capacity', 'storage') === undefined) errors.required('spec.capacity');
    const sources = [
      'csi',
      'hostPath',
      'local',
      'nfs',
      'iscsi',
      'fc',
      'rbd',
      'cephfs',
      'awsElasticBlockStore',
      'gcePersistentDisk',
    ];
    if (!sources.some((source) => at(volume, 'spec', source) !== undefined)) {
      errors.required('spec', 'must specify a volume type');
    }
  },
  validateUpdate(next, old, errors) {
    if (!sameJson(at(next, 'spec', 'csi'), at(old, 'spec', 'csi'))) {
      errors.forbidden('spec.persistentvolumesource', 'spec.persistentvolumesource is immutable after creation');
    }
  },
};

export const attachmentRules: Rules = {
  hasStatus: true,
  statusMetadata: 'kept',
  unconditionalUpdate: false,
  returnsDeleted: true,
  prepareCreate(attachment, context) {
    if (context.has('attachmentStatus')) attachment.status = { attached: false };
  },
  prepareStatus: (next) => setDefault((next.status ??= {}), 'attached', false),
  validate(attachment, errors) {
    if (textOf(at(attachment, 'spec', 'attacher')) === '') errors.required('spec.attacher');
    if (textOf(at(attachment, 'spec', 'nodeName')) === '') errors.required('spec.nodeName');
    const source = recordOf(at(attachment, 'spec', 'source'));
    if (source['persistentVolumeName'] === undefined && source['inlineVolumeSpec'] === undefined) {
      errors.required('spec.source', 'must specify one of inlineVolumeSpec and persistentVolumeName');
    }
  },
  validateUpdate(next, old, errors) {
    if (!sameJson(next.spec, old.spec)) errors.invalid('spec', next.spec, 'field is immutable');
  },
};

export const driverRules: Rules = {
  returnsDeleted: true,
  unconditionalUpdate: false,
  defaults(driver) {
    const spec = (driver.spec ??= {});
    setDefault(spec, 'attachRequired', true);
    setDefault(spec, 'podInfoOnMount', false);
    setDefault(spec, 'volumeLifecycleModes', ['Persistent']);
    setDefault(spec, 'storageCapacity', false);
    setDefault(spec, 'fsGroupPolicy', 'ReadWriteOnceWithFSType');
    setDefault(spec, 'requiresRepublish', false);
    setDefault(spec, 'seLinuxMount', false);
  },
  validateUpdate(next, old, errors) {
    const attach = at(next, 'spec', 'attachRequired');
    if (attach !== at(old, 'spec', 'attachRequired'))
      errors.invalid('spec.attachRequired', attach, 'field is immutable');
  },
};

export const csiNodeRules: Rules = {
  returnsDeleted: true,
  unconditionalUpdate: false,
  defaults(csiNode) {
    setDefault((csiNode.spec ??= {}), 'drivers', []);
    for (const driver of recordsOf(csiNode.spec['drivers'])) setDefault(driver, 'topologyKeys', null);
  },
  validate(csiNode, errors) {
    const seen = new Set<unknown>();
    for (const [index, driver] of recordsOf(at(csiNode, 'spec', 'drivers')).entries()) {
      const field = `spec.drivers[${index}]`;
      if (textOf(driver['name']) === '') errors.required(`${field}.name`);
      if (textOf(driver['nodeID']) === '') errors.required(`${field}.nodeID`);
      if (seen.has(driver['name'])) errors.duplicate(`${field}.name`, driver['name']);
      seen.add(driver['name']);
    }
  },
};

export const storageClassRules: Rules = {
  returnsDeleted: true,
  defaults(storageClass) {
    setDefault(storageClass, 'reclaimPolicy', 'Delete');
    setDefault(storageClass, 'volumeBindingMode', 'Immediate');
  },
  validate(storageClass, errors) {
    if (textOf(storageClass['provisioner']) === '') errors.required('provisioner');
  },
  validateUpdate(next, old, errors) {
    if (!sameJson(next['parameters'], old['parameters']))
      errors.forbidden('parameters', 'updates to parameters are forbidden.');
    if (next['provisioner'] !== old['provisioner']) {
      errors.forbidden('provisioner', 'updates to provisioner are forbidden.');
    }
  },
};
