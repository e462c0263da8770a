/** The configuration of a real node's programs: stock ones, scaled down in time where they let themselves be. */
import { cniPlugins } from './needs.ts';
import { pauseImage } from './images.ts';

/** Places on the node's disk, which a loss of power leaves as they are. */
export interface NodePlaces {
  containerdRoot: string;
  /** In the memory of the node. */
  containerdState: string;
  containerdSocket: string;
  cniConfig: string;
  kubeletRoot: string;
  certificates: string;
  manifests: string;
  podLogs: string;
}

export function containerdConfig(places: NodePlaces): string {
  const text = (value: string): string => JSON.stringify(value);
  return `version = 2
root = ${text(places.containerdRoot)}
state = ${text(places.containerdState)}
oom_score = 0

[grpc]
  address = ${text(places.containerdSocket)}

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = ${text(pauseImage)}
  # Where the machine may not lower the score of a process, every sandbox would fail.
  restrict_oom_score_adj = true

  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = ${text(cniPlugins)}
    conf_dir = ${text(places.cniConfig)}
`;
}

export function cniConfig(podNetwork: string): object {
  const ranges = [[{ subnet: `${podNetwork}.0/24` }]];
  const ipam = { type: 'host-local', dataDir: '/run/cni', ranges, routes: [{ dst: '0.0.0.0/0' }] };
  return { cniVersion: '0.4.0', name: 'pods', plugins: [{ type: 'ptp', ipam }] };
}

export interface KubeletTimes {
  leaseDurationSeconds: number;
  statusEveryMs: number;
}

export function kubeletConfig(places: NodePlaces, cgroup: string, times: KubeletTimes): object {
  const nothing = '0%';
  return {
    apiVersion: 'kubelet.config.k8s.io/v1beta1',
    kind: 'KubeletConfiguration',
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: 'cgroupfs',
    cgroupRoot: `/${cgroup}`,
    containerRuntimeEndpoint: `unix://${places.containerdSocket}`,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    makeIPTablesUtilChains: false,
    oomScoreAdj: 0,
    resolvConf: '',
    readOnlyPort: 0,
    staticPodPath: places.manifests,
    fileCheckFrequency: '1s',
    // How often a pod is looked at without any news; a mirror that somebody deleted comes back only then.
    syncFrequency: '5s',
    podLogsDir: places.podLogs,
    nodeLeaseDurationSeconds: times.leaseDurationSeconds,
    nodeStatusUpdateFrequency: `${times.statusEveryMs}ms`,
    // How full the disk of the machine is, is none of the tests' business.
    imageGCHighThresholdPercent: 100,
    evictionHard: Object.fromEntries(
      ['memory.available', 'nodefs.available', 'nodefs.inodesFree', 'imagefs.available', 'imagefs.inodesFree'].map(
        (signal) => [signal, nothing],
      ),
    ),
  };
}

export interface KubeconfigInput {
  server: string;
  caPem: string;
  token: string;
}

/** The certificate of the server names its loopback address only. */
export function kubeletKubeconfig({ server, caPem, token }: KubeconfigInput): object {
  const authority = Buffer.from(caPem).toString('base64');
  return {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'test', cluster: { server, 'certificate-authority-data': authority, 'tls-server-name': 'localhost' } },
    ],
    users: [{ name: 'test', user: { token } }],
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    'current-context': 'test',
  };
}
