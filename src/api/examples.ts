/** Examples for the reference. The tests send them to a real API server, so that what is printed can be pasted. */
export interface Example {
  readonly kind: string;
  readonly title: string;
  readonly yaml: string;
}

export const EXAMPLES: readonly Example[] = [
  {
    kind: 'RemedyPolicy',
    title: 'Try a repair, then fence',
    yaml: `apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: workers}
spec:
  selector: {matchLabels: {type: compute}}
  mode: Enforce
  thresholds:
  - condition: {type: Ready, status: NotTrue, for: 5s}
    remedies:
    - {name: repair, period: 3m}
    - {name: fence, cleanResources: true}
    recovery: [{name: recovery}]
  - lease: {staleFor: 12s}
    remedies: [{name: fence, cleanResources: true}]
  remedies:
  - name: repair
    podTemplate:
      spec:
        restartPolicy: Never
        containers: [{name: repair, image: "example/repair:1"}]
  - {name: fence, fence: {}}
  - {name: recovery, uncordon: {}}
  fence: {isolateAfter: 30s, powerManagementAfter: 5m, retries: 3, restarts: 2, kdump: {enabled: false}}
  release:
    podDeletion: do-nothing
    provisioners: [driver.longhorn.io]
    volumeAttachmentRecovery: never
    assertions: [OutOfService, CloudShutdown]
  storm:
    maxUnresponsive: 40%
    maxConcurrent: 1
    podsPerMinute: 300
    skipWhen: [{type: StorageUnreachable, status: "True"}]
  return: {soak: 30s, backoff: 2}
  alarms: [{condition: Ready, count: 3, within: 24h}]
`,
  },
  {
    kind: 'RemedyPolicy',
    title: 'Free the pods of StatefulSets on any node that is down, at your own risk',
    yaml: `apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: release-only}
spec:
  allNodes: true
  release: {podDeletion: delete-statefulset-pod, provisioners: [driver.longhorn.io]}
`,
  },
  {
    kind: 'RemedyPolicy',
    title: 'A volume that cannot be reached, as node-problem-detector reports it',
    yaml: `apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: unreachable-volumes}
spec:
  selector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}
  thresholds:
  - condition: {type: VolumeUnreachable, status: "True", for: 1m}
    remedies:
    - {name: cordon, period: 0s}
    - {name: detach, period: 2m}
    - {name: restart, period: 15m, cleanResources: true}
    recovery: [{name: uncordon}]
  remedies:
  - {name: cordon, cordon: {}}
  - name: detach
    podTemplate:
      spec:
        containers:
        - name: detach
          image: example/detach:1
          env: [{name: TOKEN, valueFrom: {secretKeyRef: {name: cloud, key: token}}}]
  - {name: restart, fence: {}}
  - {name: uncordon, uncordon: {}}
`,
  },
  {
    kind: 'NodeFence',
    title: 'Stop what is being done about a node',
    yaml: `apiVersion: fenceline.dev/v1alpha1
kind: NodeFence
metadata: {name: node-fence-worker-1.example.com}
spec: {node: worker-1.example.com, policy: workers, stop: true}
`,
  },
  {
    kind: 'DrainPolicy',
    title: 'Let no drain take the last replica of a volume',
    yaml: `apiVersion: fenceline.dev/v1alpha1
kind: DrainPolicy
metadata: {name: default}
spec: {allNodes: true, policy: block-if-contains-last-replica, storage: longhorn, enforcement: Auto}
`,
  },
];
