/** What many clusters of tests have: a policy that fences whoever is silent, and workloads with volumes of their own. */

/** Over all nodes, without any delay. */
export function workersPolicy(spec: object = {}): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: {
      allNodes: true,
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      fence: { isolateAfter: '0s', powerManagementAfter: '0s' },
      ...spec,
    },
  };
}

/** Each replica has a volume of its own, called `data`. */
export function statefulSet(name: string, replicas: number, container: object = {}): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: { name, namespace: 'default' },
    spec: {
      serviceName: name,
      ...podsOf(name, replicas, container),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
        },
      ],
    },
  };
}

export function deployment(name: string, replicas: number): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: podsOf(name, replicas),
  };
}

function podsOf(name: string, replicas: number, container: object = {}): object {
  return {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: `example/${name}:1`, ...container }] },
    },
  };
}
