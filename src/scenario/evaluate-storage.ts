/** Whether a state of storage with replicas holds. Volumes are judged by what is on the disks, requests by what the API says. */
import { longhornNamespace } from '../world/longhorn/objects.ts';
import type { Finding, Moment } from './moment.ts';
import type { State } from './format.ts';

type Replicated = Extract<State, { of: 'volume' | 'replica' | 'storageNode' }>;

export function replicatedFinding(wanted: Replicated, moment: Moment): Finding {
  switch (wanted.of) {
    case 'volume':
      return volumeFinding(wanted, moment);
    case 'replica':
      return replicaFinding(wanted, moment);
    case 'storageNode': {
      const node = moment.baseline.nodeName(wanted.node);
      const known = moment.state.storageNodes.get(`${longhornNamespace}/${node}`);
      if (known === undefined) return { holds: false, detail: `the storage system does not know ${node}` };
      const autoEvicting = known.status?.autoEvicting === true;
      return { holds: autoEvicting === wanted.autoEvicting, detail: `${node}: autoEvicting is ${autoEvicting}` };
    }
  }
}

function volumeFinding(wanted: Extract<State, { of: 'volume' }>, { replicatedOf, baseline }: Moment): Finding {
  const report = replicatedOf(wanted.name);
  if (report === undefined) return { holds: false, detail: `there is no volume ${wanted.name} with replicas` };
  const { robustness, replicasOn, dataIntact } = report;
  const nodes = wanted.replicasOn?.map((node) => baseline.nodeName(node)).sort();
  const holds =
    (wanted.robustness === undefined || wanted.robustness === robustness) &&
    (nodes === undefined || [...new Set(nodes)].join() === replicasOn.join()) &&
    (wanted.dataIntact === undefined || wanted.dataIntact === dataIntact);
  const places = replicasOn.join(', ') || 'no node';
  return { holds, detail: `${wanted.name} is ${robustness}, on ${places}, data ${dataIntact ? 'intact' : 'lost'}` };
}

/** One that is not there is not asked to leave either. */
function replicaFinding(wanted: Extract<State, { of: 'replica' }>, { state, baseline }: Moment): Finding {
  const node = baseline.nodeName(wanted.node);
  const here = [...state.replicas.values()].filter(
    ({ spec }) => spec?.volumeName === wanted.volume && spec.nodeID === node,
  );
  const requested = here.some(({ spec }) => spec?.evictionRequested === true);
  const told = here.length === 0 ? 'there is none' : requested ? 'asked to leave' : 'not asked to leave';
  return { holds: requested === wanted.evictionRequested, detail: `replica of ${wanted.volume} on ${node}: ${told}` };
}
