/** Nodes and Leases of the size and shape that they have in real clusters. */
import { createHash } from 'node:crypto';
import type { EtcdEntry } from '../../test/support/control-plane.ts';

export const leaseNamespace = 'kube-node-lease';
export const createdAt = '2026-01-05T08:00:00Z';
const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];

export function nodeName(index: number): string {
  return `ip-10-${Math.floor(index / 62_500)}-${Math.floor(index / 250) % 250}-${index % 250}.eu-west-1.compute.internal`;
}

export function* nodeEntries(count: number): Generator<EtcdEntry> {
  for (let index = 0; index < count; index += 1) {
    yield { key: `/registry/minions/${nodeName(index)}`, value: node(index) };
    yield { key: leaseKey(nodeName(index)), value: lease(index) };
  }
}

/** Strings are filled in rather than objects built: thirty thousand of them are seeded in one go. */
export function uid(seed: string): string {
  const hex = createHash('sha256').update(seed).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

function node(index: number): object {
  const name = nodeName(index);
  const zone = zones[index % zones.length] ?? '';
  return {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: {
      name,
      uid: uid(`node-${name}`),
      creationTimestamp: createdAt,
      labels: nodeLabels(name, zone),
      annotations: {
        'alpha.kubernetes.io/provided-node-ip': address(index),
        'csi.volume.kubernetes.io/nodeid': `{"ebs.csi.aws.com":"i-${uid(name).slice(0, 8)}","efs.csi.aws.com":"i-${uid(name).slice(0, 8)}"}`,
        'node.alpha.kubernetes.io/ttl': '300',
        'volumes.kubernetes.io/controller-managed-attach-detach': 'true',
      },
      managedFields: nodeManagers,
    },
    spec: {
      providerID: `aws:///${zone}/i-${uid(name).slice(0, 8)}`,
      podCIDR: '10.244.0.0/24',
      podCIDRs: ['10.244.0.0/24'],
    },
    status: {
      addresses: [
        { type: 'InternalIP', address: address(index) },
        { type: 'Hostname', address: name },
        { type: 'InternalDNS', address: name },
      ],
      allocatable: resources('15890m', '62Gi'),
      capacity: resources('16', '64Gi'),
      conditions: conditions(),
      daemonEndpoints: { kubeletEndpoint: { Port: 10_250 } },
      images: images(index),
      nodeInfo: {
        machineID: uid(`machine-${name}`).replaceAll('-', ''),
        systemUUID: uid(`system-${name}`),
        bootID: uid(`boot-${name}`),
        kernelVersion: '6.12.40-64.114.amzn2023.x86_64',
        osImage: 'Amazon Linux 2023.8.20260105',
        containerRuntimeVersion: 'containerd://2.1.4',
        kubeletVersion: 'v1.36.3',
        kubeProxyVersion: '',
        operatingSystem: 'linux',
        architecture: 'amd64',
      },
      volumesInUse: [`kubernetes.io/csi/ebs.csi.aws.com^vol-${uid(name).slice(0, 8)}`],
      volumesAttached: [{ name: `kubernetes.io/csi/ebs.csi.aws.com^vol-${uid(name).slice(0, 8)}`, devicePath: '' }],
    },
  };
}

function nodeLabels(name: string, zone: string): Record<string, string> {
  return {
    'beta.kubernetes.io/arch': 'amd64',
    'beta.kubernetes.io/instance-type': 'm6i.4xlarge',
    'beta.kubernetes.io/os': 'linux',
    'failure-domain.beta.kubernetes.io/region': 'eu-west-1',
    'failure-domain.beta.kubernetes.io/zone': zone,
    'k8s.io/cloud-provider-aws': uid('cloud').replaceAll('-', ''),
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': 'm6i.4xlarge',
    'topology.ebs.csi.aws.com/zone': zone,
    'topology.kubernetes.io/region': 'eu-west-1',
    'topology.kubernetes.io/zone': zone,
  };
}

function address(index: number): string {
  return `10.${Math.floor(index / 62_500)}.${Math.floor(index / 250) % 250}.${index % 250}`;
}

function resources(cpu: string, memory: string): Record<string, string> {
  return {
    cpu,
    memory,
    'ephemeral-storage': '104845292Ki',
    'hugepages-1Gi': '0',
    'hugepages-2Mi': '0',
    pods: '110',
  };
}

function conditions(): object[] {
  const all = [
    ['MemoryPressure', 'False', 'KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    ['DiskPressure', 'False', 'KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    ['PIDPressure', 'False', 'KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    ['NetworkUnavailable', 'False', 'CiliumIsUp', 'Cilium is running on this node'],
    ['Ready', 'True', 'KubeletReady', 'kubelet is posting ready status'],
  ];
  return all.map(([type, status, reason, message]) => ({
    type,
    status,
    reason,
    message,
    lastHeartbeatTime: createdAt,
    lastTransitionTime: createdAt,
  }));
}

/** A kubelet reports up to 50 images, each by digest and by tag. */
function images(index: number): object[] {
  return Array.from({ length: 27 }, (_, image) => {
    const repository = `602401143452.dkr.ecr.eu-west-1.amazonaws.com/team-${image % 7}/service-${image}`;
    const digest = createHash('sha256').update(`${index}-${image}`).digest('hex');
    return {
      names: [`${repository}@sha256:${digest}`, `${repository}:v1.${image}.${index % 10}`],
      sizeBytes: 104_857_600 + image * 7919,
    };
  });
}

export function fields(...names: string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [`f:${name}`, {}]));
}

const conditionTypes = ['MemoryPressure', 'DiskPressure', 'PIDPressure', 'Ready'];

const nodeManagers = [
  {
    manager: 'kubelet',
    operation: 'Update',
    apiVersion: 'v1',
    time: createdAt,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:metadata': {
        'f:annotations': {
          '.': {},
          ...fields('alpha.kubernetes.io/provided-node-ip', 'volumes.kubernetes.io/controller-managed-attach-detach'),
        },
        'f:labels': { '.': {}, ...fields(...Object.keys(nodeLabels('', ''))) },
      },
      'f:spec': fields('providerID'),
    },
  },
  {
    manager: 'kubelet',
    operation: 'Update',
    apiVersion: 'v1',
    time: createdAt,
    fieldsType: 'FieldsV1',
    fieldsV1: {
      'f:status': {
        'f:allocatable': fields(...Object.keys(resources('', ''))),
        'f:capacity': fields(...Object.keys(resources('', ''))),
        'f:conditions': Object.fromEntries(
          conditionTypes.map((type) => [
            `k:{"type":"${type}"}`,
            fields('lastHeartbeatTime', 'lastTransitionTime', 'message', 'reason', 'status'),
          ]),
        ),
        'f:images': {},
        'f:nodeInfo': fields('bootID', 'containerRuntimeVersion', 'kernelVersion', 'kubeletVersion', 'osImage'),
        'f:volumesInUse': {},
      },
    },
    subresource: 'status',
  },
];

/** Where etcd has the Lease of a node. */
export function leaseKey(node: string): string {
  return `/registry/leases/${leaseNamespace}/${node}`;
}

function lease(index: number): object {
  const name = nodeName(index);
  return {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      name,
      namespace: leaseNamespace,
      uid: uid(`lease-${name}`),
      creationTimestamp: createdAt,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid: uid(`node-${name}`) }],
      managedFields: [
        {
          manager: 'kubelet',
          operation: 'Update',
          apiVersion: 'coordination.k8s.io/v1',
          time: createdAt,
          fieldsType: 'FieldsV1',
          fieldsV1: {
            'f:metadata': { 'f:ownerReferences': { '.': {}, [`k:{"uid":"${uid(`node-${name}`)}"}`]: {} } },
            'f:spec': fields('holderIdentity', 'leaseDurationSeconds', 'renewTime'),
          },
        },
      ],
    },
    spec: { holderIdentity: name, leaseDurationSeconds: 40, renewTime: '2026-01-05T08:00:00.000000Z' },
  };
}
