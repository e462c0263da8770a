/**
 * The product on a real cluster, by its chart, as docs/install.md has it: in pods of the image with Debian's fence agents. Every worker
 * has a BMC that owns it, one kind after the other: fence_ipmilan by IPMI, and our own driver by Redfish over TLS.
 */
import { rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ensureHelm } from '../../../control-plane/build.ts';
import { Workshop } from '../../devices/endpoints/workshop.ts';
import { createCertificateAuthority } from '../certificates.ts';
import { commandsOf } from '../documents.ts';
import { makeAgentsImage } from '../image-root.ts';
import { administratorOf, type } from '../install.ts';
import { SYSTEM } from '../redfish-bmc.ts';
import { startIpmiBmc, startRedfishBmc, type Bmc } from './bmcs.ts';
import type { RealCluster } from './cluster.ts';
import { MachinePower } from './machine-power.ts';
import { scratchDir } from './real-node.ts';

export const agentsImage = 'registry.example.com/fenceline:0.1.0-agents';

/** On what the operator runs, and what it is about. */
export const infra = { role: 'infra' };
export const workers = { pool: 'workers' };

export interface ImageArchive {
  path: string;
  remove: () => Promise<void>;
}

/** For the nodes that the operator runs on. */
export async function operatorImage(): Promise<ImageArchive> {
  const dir = await scratchDir('image');
  const remove = (): Promise<void> => rm(dir, { recursive: true, force: true });
  try {
    return { path: await makeAgentsImage(dir, agentsImage), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

export interface Installation {
  /** Nodes that get a BMC. */
  names: readonly string[];
  /** Fields of the policy beside, or in the place of, the usual ones. */
  policy: object;
  replicas: number;
}

export class Product {
  readonly #env: NodeJS.ProcessEnv;
  readonly #power: ReadonlyMap<string, MachinePower>;

  private constructor(env: NodeJS.ProcessEnv, power: ReadonlyMap<string, MachinePower>) {
    this.#env = env;
    this.#power = power;
  }

  /** Installed, with a BMC for each of these nodes and a policy that acts on them; every device has answered. */
  static async install(cluster: RealCluster, { names, policy, replicas }: Installation): Promise<Product> {
    const workshop = await Workshop.open();
    cluster.onStop(() => workshop.close());
    const home = await scratchDir('helm');
    cluster.onStop(() => rm(home, { recursive: true, force: true }));
    const administrator = await administratorOf(cluster.controlPlane);
    const env = {
      ...administrator,
      HELM_CACHE_HOME: home,
      HELM_CONFIG_HOME: home,
      HELM_DATA_HOME: home,
      PATH: `${dirname(await ensureHelm())}:${administrator['PATH']}`,
    };
    const power = new Map(names.map((name) => [name, new MachinePower(cluster.node(name))]));
    cluster.onStop(() => Promise.all([...power.values()].map((one) => one.settled())));
    const product = new Product(env, power);
    const authority = createCertificateAuthority();
    const devices: object[] = [];
    for (const [index, name] of names.entries()) {
      const machine = product.power(name);
      const bmc =
        index % 2 === 0
          ? await startIpmiBmc(workshop, cluster.address, machine)
          : await startRedfishBmc(workshop, cluster.address, machine, authority);
      devices.push(...deviceOf(name, cluster.address, bmc));
    }
    const trust = { 'ca.crt': authority.certPem };
    await product.#apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fenceline', labels: { [enforce]: 'privileged' } } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'bmc-trust', namespace: 'fenceline' }, data: trust },
    );
    const [install = ''] = commandsOf('docs/install.md', 'By helm');
    const chosen = [`replicas=${replicas}`, ...values];
    await product.type(`${install} ${chosen.map((value) => `--set ${value}`).join(' ')}`);
    await product.#apply(...devices, policyOf(policy));
    await product.rolledOut();
    return product;
  }

  type(command: string): Promise<string> {
    return type(command, this.#env);
  }

  power(node: string): MachinePower {
    const power = this.#power.get(node);
    if (power === undefined) throw new Error(`node ${node} has no BMC`);
    return power;
  }

  /** By the documented command, with something new in its pods, so that each is replaced. Rolls on when this is over. */
  async upgrade(mark: string): Promise<void> {
    const upgrade = commandsOf('docs/install.md', 'By helm').find((line) => line.startsWith('helm upgrade')) ?? '';
    await this.type(`${upgrade} --set podAnnotations.upgrade=x${mark}`);
  }

  /** Until all of its pods are those of the last upgrade, and are ready. */
  async rolledOut(timeoutSeconds = 120): Promise<void> {
    await this.type(`kubectl rollout status deployment/fenceline --namespace fenceline --timeout=${timeoutSeconds}s`);
  }

  /** What is on record about a node, or nothing. */
  async record(node: string): Promise<FenceRecord | undefined> {
    const text = await this.type(`kubectl get nodefence node-fence-${node} --ignore-not-found -o json`);
    return text.trim() === '' ? undefined : (JSON.parse(text) as FenceRecord);
  }

  async #apply(...items: readonly object[]): Promise<void> {
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    await this.type(`kubectl apply --server-side -f - <<'END'\n${list}\nEND`);
  }
}

export interface FenceRecord {
  status?: {
    releases?: { basis: string; podsGoneAt?: string; pods: { uid: string }[] }[];
    [field: string]: unknown;
  };
}

const enforce = 'pod-security.kubernetes.io/enforce';

const values = [
  'hostNetwork=true',
  'kdump.enabled=true',
  'operator.agentTrust.configMap=bmc-trust',
  'placement.nodeSelector.role=infra',
];

function deviceOf(node: string, address: string, { kind, port, username, password }: Bmc): object[] {
  const namespace = 'fenceline';
  const at = { ip: address, ipport: String(port) };
  const spoken =
    kind === 'ipmi'
      ? { agent: 'fence_ipmilan', parameters: { ...at, lanplus: '1', cipher: '3' } }
      : { agent: 'fence_redfish', parameters: { ...at, systems_uri: SYSTEM } };
  return [
    {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: `bmc-${node}`, namespace },
      stringData: { username, password },
    },
    {
      apiVersion: 'fenceline.dev/v1alpha1',
      kind: 'FenceDevice',
      metadata: { name: `bmc-${node}`, namespace },
      spec: { node, ...spoken, secrets: [`bmc-${node}`] },
    },
  ];
}

function policyOf(more: object): object {
  return {
    apiVersion: 'fenceline.dev/v1alpha1',
    kind: 'RemedyPolicy',
    metadata: { name: 'workers' },
    spec: {
      selector: { matchLabels: workers },
      thresholds: [{ lease: { staleFor: '12s' }, remedies: [{ name: 'fence', period: '10s' }] }],
      remedies: [{ name: 'fence', fence: {} }],
      fence: { isolateAfter: '0s', powerManagementAfter: '5s', bootTimeout: '2m' },
      return: { soak: '5s' },
      ...more,
    },
  };
}
