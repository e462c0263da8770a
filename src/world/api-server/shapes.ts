/**
 * Which lists of the built-in types are merged, and by what: for strategic merge patches (one key) and for server-side
 * apply (one or more keys, sets). What is not named here is a plain map, or a list that is replaced as a whole.
 */
export interface Shape {
  fields?: Record<string, Shape>;
  /** Shape of a list's items, or of a map's values. */
  item?: Shape;
  /** Key by which a strategic merge patch merges a list of objects. */
  mergeKey?: string;
  /** A strategic merge patch adds to this list of plain values instead of replacing it. */
  mergeValues?: true;
  /** Keys by which apply tells the items of a list apart. */
  keys?: string[];
  /** Apply owns each plain value of this list by itself. */
  set?: true;
  /** Apply owns this as a whole. */
  atomic?: true;
  /** A strategic merge patch replaces this object as a whole. */
  replace?: true;
}

function keyed(mergeKey: string, fields?: Record<string, Shape>, keys: string[] = [mergeKey]): Shape {
  return fields === undefined ? { mergeKey, keys } : { mergeKey, keys, item: { fields } };
}

const atomic: Shape = { atomic: true };
const conditions = keyed('type');

export const metadataShape: Shape = {
  fields: {
    finalizers: { mergeValues: true, set: true },
    ownerReferences: { ...keyed('uid'), item: { atomic: true } },
    managedFields: atomic,
  },
};

const env = keyed('name', {
  valueFrom: { fields: { fieldRef: atomic, configMapKeyRef: atomic, secretKeyRef: atomic } },
});
const containers = keyed('name', {
  env,
  ports: keyed('containerPort', undefined, ['containerPort', 'protocol']),
  volumeMounts: keyed('mountPath'),
  volumeDevices: keyed('devicePath'),
});

const podSpec: Shape = {
  fields: {
    containers,
    initContainers: containers,
    ephemeralContainers: containers,
    volumes: keyed('name'),
    imagePullSecrets: keyed('name'),
    hostAliases: keyed('ip'),
    topologySpreadConstraints: keyed('topologyKey', undefined, ['topologyKey', 'whenUnsatisfiable']),
    schedulingGates: keyed('name'),
    resourceClaims: keyed('name'),
    tolerations: atomic,
    nodeSelector: atomic,
  },
};

const podStatus: Shape = {
  fields: { conditions, hostIPs: keyed('ip'), podIPs: keyed('ip'), resourceClaimStatuses: keyed('name') },
};

const template: Shape = { fields: { metadata: metadataShape, spec: podSpec } };
const withTemplate: Shape = {
  fields: { spec: { fields: { template, selector: atomic } }, status: { fields: { conditions } } },
};

/** By group and plural. */
export const shapes: Record<string, Shape> = {
  '/pods': { fields: { spec: podSpec, status: podStatus } },
  '/nodes': {
    fields: {
      spec: { fields: { podCIDRs: { mergeValues: true, set: true }, taints: atomic } },
      status: { fields: { conditions, addresses: keyed('type') } },
    },
  },
  '/services': {
    fields: {
      spec: { fields: { ports: keyed('port', undefined, ['port', 'protocol']), selector: atomic } },
      status: { fields: { conditions } },
    },
  },
  '/serviceaccounts': { fields: { secrets: keyed('name') } },
  '/namespaces': { fields: { status: { fields: { conditions } } } },
  '/persistentvolumeclaims': { fields: { spec: { fields: { selector: atomic } }, status: { fields: { conditions } } } },
  'apps/deployments': withTemplate,
  'apps/statefulsets': withTemplate,
  'apps/daemonsets': withTemplate,
  'apps/replicasets': withTemplate,
  'batch/jobs': withTemplate,
  'policy/poddisruptionbudgets': {
    fields: { spec: { fields: { selector: { replace: true, atomic: true } } }, status: { fields: { conditions } } },
  },
  'storage.k8s.io/csinodes': { fields: { spec: { fields: { drivers: keyed('name') } } } },
};

/** The shape of one member; labels and the like have none. */
export function memberShape(shape: Shape | undefined, key: string): Shape | undefined {
  return shape?.fields?.[key] ?? (shape?.fields === undefined ? shape?.item : undefined);
}

export function shapeOf(storage: string): Shape {
  const known = shapes[storage];
  return { fields: { ...known?.fields, metadata: metadataShape } };
}
