/** What is bundled of a release that is kept: its operator, to be run by tests of later ones. What it takes and answers stays as it is. */
import { featureGates } from '../../src/api/feature-gates.ts';
import { defaultLimits } from '../../src/judge/judge-node.ts';
import { KubeClient } from '../../src/kube/client.ts';
import { Operator } from '../../src/operator/operator.ts';
import type { Program, ProgramContext } from '../../src/scenario/operators.ts';
import { version } from '../../src/version.ts';

export { TransportError } from '../../src/kube/transport.ts';

export function programOf(context: ProgramContext, places: { namespace: string; remedyNamespace: string }): Program {
  const { transport, clock, random, number, featureGates: gates, ...rest } = context;
  const client = new KubeClient({ transport, clock, userAgent: `fenceline/${version}`, fieldManager: 'fenceline' });
  const identity = `operator-${number}_${random().toString(36).slice(2)}`;
  const election = { namespace: places.namespace, name: 'fenceline' };
  const own = { client, clock, random, version, limits: defaultLimits, identity, election, gates: featureGates(gates) };
  return new Operator({ forbidden: [], ...rest, ...own, ...places });
}
