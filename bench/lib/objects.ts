/**
 * Nodes, Leases and Pods of the size and shape that they have in real clusters: what a client has to receive and throw
 * away counts for as much as what it keeps.
 */
import { createHash } from 'node:crypto';
import type { EtcdEntry } from '../../test/support/control-plane.ts';

export interface PodTemplate extends Record<string, unknown> {
  metadata: Record<string, unknown>;
  spec: { containers: object[]; volumes: ({ name: string } & Record<string, unknown>)[] } & Record<string, unknown>;
}

export const leaseNamespace = 'kube-node-lease';
export const createdAt = '2026-01-05T08:00:00Z';
const zones = ['eu-west-1a', 'eu-west-1b', 'eu-west-1c'];

export function nodeName(index: number): string {
  return `ip-10-${Math.floor(index / 62_500)}-${Math.floor(index / 250) % 250}-${index % 250}.eu-west-1.compute.internal`;
}

export function* nodeEntries(count: number): Generator<EtcdEntry> {
  for (let index = 0; index < count; index += 1) {
    yield { key: `/registry/minions/${nodeName(index)}`, value: node(index) };
    yield { key: `/registry/leases/${leaseNamespace}/${nodeName(index)}`, value: lease(index) };
  }
}

/** Strings are filled in rather than objects built: thirty thousand of them are seeded in one go. */
export function* podEntries(count: number, nodes: number): Generator<EtcdEntry> {
  const template = JSON.stringify(pod());
  // Without it the server refuses changes to what is in it.
  yield { key: '/registry/namespaces/workloads', value: namespace('workloads') };
  for (let index = 0; index < count; index += 1) {
    const name = `web-${index}`;
    const value = template
      .replaceAll('@name', name)
      .replaceAll('@uid', uid(name))
      .replaceAll('@node', nodeName(index % nodes));
    yield { key: `/registry/pods/workloads/${name}`, value };
  }
}

/** The claims of those pods, each bound to a volume. */
export function* claimEntries(count: number): Generator<EtcdEntry> {
  for (let index = 0; index < count; index += 1) {
    const [claim, volume] = [`data-web-${index}`, `pv-${index}`];
    yield { key: `/registry/persistentvolumeclaims/workloads/${claim}`, value: boundClaim(claim, volume) };
    yield { key: `/registry/persistentvolumes/${volume}`, value: boundVolume(claim, volume) };
  }
}

const storage = { accessModes: ['ReadWriteOnce'], storageClassName: '', volumeMode: 'Filesystem' };

export function boundClaim(name: string, volumeName: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'workloads', uid: uid(`claim-${name}`), creationTimestamp: createdAt },
    spec: { ...storage, resources: { requests: { storage: '10Gi' } }, volumeName },
    status: { phase: 'Bound', accessModes: storage.accessModes, capacity: { storage: '10Gi' } },
  };
}

export function boundVolume(claim: string, name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name, uid: uid(`volume-${name}`), creationTimestamp: createdAt },
    spec: {
      ...storage,
      capacity: { storage: '10Gi' },
      csi: { driver: 'ebs.csi.aws.com', volumeHandle: `vol-${name}` },
      claimRef: { namespace: 'workloads', name: claim, uid: uid(`claim-${claim}`) },
      persistentVolumeReclaimPolicy: 'Delete',
    },
    status: { phase: 'Bound' },
  };
}

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

function fields(...names: string[]): Record<string, object> {
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

export function namespace(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name, uid: uid(`namespace-${name}`), creationTimestamp: createdAt },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  };
}

/** Of which there are thousands: what is written @so is filled in for each. */
export function pod(): PodTemplate {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: '@name',
      namespace: 'workloads',
      uid: '@uid',
      creationTimestamp: createdAt,
      generateName: 'web-',
      labels: { app: 'web', 'app.kubernetes.io/instance': 'web', 'pod-template-hash': '6d4cf56db6' },
      annotations: { 'prometheus.io/scrape': 'true', 'prometheus.io/port': '9090', 'checksum/config': '@uid@uid' },
      ownerReferences: [
        { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-6d4cf56db6', uid: uid('rs'), controller: true },
      ],
      managedFields: podManagers,
    },
    spec: {
      nodeName: '@node',
      serviceAccountName: 'web',
      restartPolicy: 'Always',
      terminationGracePeriodSeconds: 30,
      dnsPolicy: 'ClusterFirst',
      schedulerName: 'default-scheduler',
      securityContext: { runAsNonRoot: true, runAsUser: 10_001, fsGroup: 10_001 },
      containers: ['app', 'proxy'].map(container),
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'data-@name' } },
        { name: 'config', configMap: { name: 'web-config', defaultMode: 420 } },
        { name: 'token', projected: { defaultMode: 420, sources: [{ serviceAccountToken: { path: 'token' } }] } },
      ],
      tolerations: ['not-ready', 'unreachable'].map((key) => ({
        key: `node.kubernetes.io/${key}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
    },
    status: {
      phase: 'Running',
      hostIP: '10.0.0.1',
      podIP: '10.244.0.7',
      podIPs: [{ ip: '10.244.0.7' }],
      startTime: createdAt,
      qosClass: 'Burstable',
      conditions: ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'].map((type) => ({
        type,
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: createdAt,
      })),
      containerStatuses: ['app', 'proxy'].map((name) => ({
        name,
        ready: true,
        started: true,
        restartCount: 0,
        image: `registry.example.com/platform/${name}:v1.42.0`,
        imageID: `registry.example.com/platform/${name}@sha256:${createHash('sha256').update(name).digest('hex')}`,
        containerID: `containerd://${createHash('sha256').update(`id-${name}`).digest('hex')}`,
        state: { running: { startedAt: createdAt } },
      })),
    },
  };
}

function container(name: string): object {
  return {
    name,
    image: `registry.example.com/platform/${name}:v1.42.0`,
    imagePullPolicy: 'IfNotPresent',
    args: ['--config=/etc/web/config.yaml', '--listen=:8080', '--log-format=json', '--shutdown-delay=15s'],
    ports: [{ name: 'http', containerPort: 8080, protocol: 'TCP' }],
    env: Array.from({ length: 18 }, (_, index) => ({
      name: `WEB_FEATURE_SETTING_${index}`,
      value: `postgres://web@database-${index}.workloads.svc.cluster.local:5432/web`,
    })),
    resources: { requests: { cpu: '250m', memory: '256Mi' }, limits: { memory: '512Mi' } },
    volumeMounts: ['data', 'config', 'token'].map((volume) => ({ name: volume, mountPath: `/var/lib/web/${volume}` })),
    readinessProbe: { httpGet: { path: '/ready', port: 'http', scheme: 'HTTP' }, periodSeconds: 10, timeoutSeconds: 1 },
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'File',
  };
}

const podManagers = ['kube-controller-manager', 'kubelet'].map((manager) => ({
  manager,
  operation: 'Update',
  apiVersion: 'v1',
  time: createdAt,
  fieldsType: 'FieldsV1',
  fieldsV1: {
    'f:spec': {
      'f:containers': Object.fromEntries(
        ['app', 'proxy'].map((name) => [
          `k:{"name":"${name}"}`,
          {
            ...fields('args', 'image', 'imagePullPolicy', 'name', 'readinessProbe', 'resources', 'volumeMounts'),
            'f:env': Object.fromEntries(
              Array.from({ length: 6 }, (_, index) => [
                `k:{"name":"WEB_FEATURE_SETTING_${index}"}`,
                fields('name', 'value'),
              ]),
            ),
          },
        ]),
      ),
    },
  },
}));
