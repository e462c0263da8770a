/** Nodes: a new one may not be scheduled to until it was seen Ready; taints are told apart by key and effect. */
import type { RuleContext, Rules } from '../kind.ts';
import { validateLabelKey, validateLabelValue } from '../names.ts';
import type { ApiObject } from '../object.ts';
import { at, recordOf, recordsOf, textOf } from '../object.ts';
import type { FieldErrors } from '../status-error.ts';
import { setDefault } from './pod.ts';

const emptyNodeInfo = {
  machineID: '',
  systemUUID: '',
  bootID: '',
  kernelVersion: '',
  osImage: '',
  containerRuntimeVersion: '',
  kubeletVersion: '',
  kubeProxyVersion: '',
  operatingSystem: '',
  architecture: '',
};

/** Members that the API always shows, set or not. */
function defaultNode(node: ApiObject): void {
  node.spec ??= {};
  const status = (node.status ??= {});
  status['daemonEndpoints'] ??= { kubeletEndpoint: { Port: 0 } };
  if (recordOf(status['nodeInfo'])['architecture'] === undefined) {
    status['nodeInfo'] = { ...emptyNodeInfo, ...recordOf(status['nodeInfo']) };
  }
  fillConditions(node);
  if (status['allocatable'] === undefined && status['capacity'] !== undefined)
    status['allocatable'] = status['capacity'];
}

function fillConditions(node: ApiObject): void {
  for (const condition of recordsOf(at(node, 'status', 'conditions'))) {
    for (const key of ['lastHeartbeatTime', 'lastTransitionTime']) setDefault(condition, key, null);
  }
}

function prepareCreate(node: ApiObject, context: RuleContext): void {
  if (!context.has('nodeStatus')) delete node.status;
  if (!context.has('admission')) return;
  const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const spec = (node.spec ??= {});
  const taints = recordsOf(spec['taints']);
  if (taints.some(({ key, effect }) => key === notReady.key && effect === notReady.effect)) return;
  spec['taints'] = [...taints, notReady];
}

const effects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

function validate(node: ApiObject, errors: FieldErrors, context: RuleContext): void {
  const seen = new Set<string>();
  for (const [index, taint] of recordsOf(at(node, 'spec', 'taints')).entries()) {
    const field = `metadata.taints[${index}]`;
    const key = textOf(taint['key']);
    const effect = textOf(taint['effect']);
    validateLabelKey(key, `${field}.key`, errors);
    validateLabelValue(textOf(taint['value']), `${field}.value`, errors);
    if (effect === '') errors.required(`${field}.effect`);
    else if (!effects.includes(effect)) errors.notSupported(`${field}.effect`, effect, effects);
    const id = context.has('taintKeys') ? `${effect} ${key}` : key;
    if (seen.has(id) && context.has('duplicateTaints')) {
      const shown = { Key: key, Value: textOf(taint['value']), Effect: effect, TimeAdded: taint['timeAdded'] ?? null };
      errors.duplicate(field, shown, 'taints must be unique by key and effect pair');
    }
    seen.add(id);
  }
}

function validateUpdate(next: ApiObject, old: ApiObject, errors: FieldErrors): void {
  const provider = textOf(at(old, 'spec', 'providerID'));
  if (provider !== '' && provider !== at(next, 'spec', 'providerID')) {
    errors.forbidden('spec.providerID', 'node updates may not change providerID except from "" to valid');
  }
  const cidr = textOf(at(old, 'spec', 'podCIDR'));
  if (cidr !== '' && cidr !== at(next, 'spec', 'podCIDR')) {
    errors.forbidden('spec.podCIDRs', 'node updates may not change podCIDR except from "" to valid');
  }
}

export const nodeRules: Rules = {
  hasStatus: true,
  statusMetadata: 'free',
  defaults: defaultNode,
  prepareCreate,
  prepareStatus: fillConditions,
  validate,
  validateUpdate,
  fields: { 'spec.unschedulable': (node) => String(at(node, 'spec', 'unschedulable') === true) },
};
