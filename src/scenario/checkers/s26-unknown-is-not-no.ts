/**
 * S26: an error is never read as "no". What an operator could not read the last time it tried, of all that a release
 * rests on, keeps it from that release. "There is none" is an answer; an error, or none at all, is not.
 */
import { nodeFenceName } from '../../api/fence-names.ts';
import type { ClusterState } from '../cluster-state.ts';
import type { CheckContext, Invariant } from './checker.ts';
import { Reads } from './reads.ts';
import type { Release } from './release.ts';
import { recordsFor, releaseOf, toldOf, volumesOf } from './release.ts';

const ours = '/apis/fenceline.dev/v1alpha1';

export const s26: Invariant = {
  id: 'S26',
  check: (context) => {
    const reads = new Reads();
    return {
      onWire: (event) => reads.take(event),
      onWrite(write) {
        const release = releaseOf(write);
        if (release === undefined) return;
        const unknown = restsOn(context, release).find((path) => {
          const read = reads.of(write.user, path);
          return read !== undefined && read.status !== 200 && read.status !== 404;
        });
        if (unknown !== undefined) context.violated(`${toldOf(release)} although ${unknown} could not be read`);
      },
    };
  },
};

function restsOn(context: CheckContext, release: Release): string[] {
  const { state } = context;
  const { node } = release;
  const policies = recordsFor(context, release).flatMap(({ by = '' }) =>
    by.startsWith('policy ') ? [by.slice('policy '.length)] : [],
  );
  return [
    `/api/v1/nodes/${node}`,
    `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node}`,
    `${ours}/nodefences/${nodeFenceName(node)}`,
    ...policies.map((name) => `${ours}/remedypolicies/${name}`),
    ...[...state.drivers.keys()].map((name) => `/apis/storage.k8s.io/v1/csidrivers/${name}`),
    ...('pod' in release ? volumePaths(state, release) : []),
  ];
}

function volumePaths(state: ClusterState, { pod }: Extract<Release, { pod: unknown }>): string[] {
  const { namespace } = pod.metadata;
  const claims = (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim ?? []);
  return [
    ...claims.map(({ claimName }) => `/api/v1/namespaces/${namespace}/persistentvolumeclaims/${claimName}`),
    ...volumesOf(state, pod).map((volume) => `/api/v1/persistentvolumes/${volume}`),
  ];
}
