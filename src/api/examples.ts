/**
 * Examples for the reference. The tests send them to a real API server, so that what is printed can be pasted, and put those
 * to begin with into a cluster in which a node fails, to see that what their comments say is what happens.
 */
export interface Example {
  readonly kind: string;
  readonly title: string;
  readonly yaml: string;
  /** One of those that most people want, which the page begins with. */
  readonly first?: true;
}

export const EXAMPLES: readonly Example[] = [
  {
    kind: 'RemedyPolicy',
    title: 'Machines with a BMC, or another device that switches their power',
    first: true,
    yaml: `# The BMC of a worker that has sent no heartbeat for 12 s is asked. If it says off, before Kubernetes has noticed anything, its
# pods and volumes go at once, and start elsewhere. If the machine is on, it has until 20 s to send one, and 10 s more to come
# back; then its power is cut, and they go. Then the machine is switched on again; it takes pods 30 s after it is Ready. If the BMC
# does not answer, nothing goes. How to reach the BMCs is in ConfigMaps: docs/fencing.md.
apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: bmc}
spec:
  selector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}
  thresholds:
  - lease: {staleFor: 20s}
    remedies: [{name: fence}]
  remedies: [{name: fence, fence: {}}]
  fence: {isolateAfter: 0s, powerManagementAfter: 10s}
`,
  },
  {
    kind: 'RemedyPolicy',
    title: 'Instances of a cloud',
    first: true,
    yaml: `# The cloud of a worker that has sent no heartbeat for 12 s is asked. One that runs gets until 30 s, and 30 s more to come back;
# then its cloud stops the instance. As soon as the cloud says that it is stopped, its pods and volumes go, and start elsewhere;
# then the instance is started again. Where the cloud does not answer, and its controller says that the instance is shut down, by
# its taint on the node, they go at its word. No ConfigMap
# is needed: instances are known by the provider ID of their nodes, and the credential is in the Secret fence-provider-aws, or
# -azure, -gce, -openstack, -vsphere: docs/devices.md.
apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: cloud}
spec:
  selector: {matchExpressions: [{key: node-role.kubernetes.io/control-plane, operator: DoesNotExist}]}
  thresholds:
  - lease: {staleFor: 30s}
    remedies: [{name: fence}]
  remedies: [{name: fence, fence: {}}]
  fence: {isolateAfter: 0s, powerManagementAfter: 30s}
  release: {assertions: [CloudShutdown]}
`,
  },
  {
    kind: 'RemedyPolicy',
    title: 'No device that could switch anything off',
    first: true,
    yaml: `# Nobody can find out whether a silent machine still writes. Go and look, and say that it is off:
#   kubectl taint node NAME node.kubernetes.io/out-of-service=nodeshutdown:NoExecute
# Then all of its pods and volumes go at once. Until somebody does, only pods of StatefulSets with a Longhorn volume go, when
# their time to terminate is up, some six and a half minutes after the failure: without any proof, at your own risk, because
# a machine that is merely cut off goes on writing. Without podDeletion and provisioners nothing goes before somebody has
# looked.
apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: no-device}
spec:
  allNodes: true
  release:
    assertions: [OutOfService]
    podDeletion: delete-statefulset-pod
    provisioners: [driver.longhorn.io]
`,
  },
  {
    kind: 'RemedyPolicy',
    title: 'Try a repair, then fence, with everything that people usually set',
    yaml: `# Kubernetes has lost a node: a Job tries to repair it, and if the node is not Ready three minutes later, it is fenced. A
# threshold on the Lease would begin half a minute earlier, and its fence would come before the repair. A machine that says off,
# as soon as its heartbeats are missed, is past repair: its pods go at once.
apiVersion: fenceline.dev/v1alpha1
kind: RemedyPolicy
metadata: {name: workers}
spec:
  selector: {matchLabels: {type: compute}}
  priority: 10
  mode: Enforce
  thresholds:
  - condition: {type: Ready, status: NotTrue, for: 5s}
    remedies:
    - {name: repair, period: 3m}
    - {name: fence}
    recovery: [{name: recovery}]
  remedies:
  - name: repair
    podTemplate:
      spec:
        restartPolicy: Never
        containers: [{name: repair, image: "example/repair:1"}]
  - {name: fence, fence: {}}
  - {name: recovery, uncordon: {}}
  fence: {isolateAfter: 10s, powerManagementAfter: 30s, retries: 3, restarts: 2, kdump: {enabled: false}}
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
    - {name: restart, period: 15m}
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
