/** Whether somebody else says of a node that it is theirs: by a mark on it, or by an object of their own that is about it. */
import type { Node } from '../../world/objects/nodes.ts';
import type { StoredChange } from '../cluster-state.ts';

const marks =
  /^(ToBeDeletedByClusterAutoscaler|karpenter\.sh\/disrupt.*|(.+\.)?medik8s\.io\/.*remediation|aws-node-termination-handler\/.*|cloud\.google\.com\/impending-.*)$/;

const kinds = /Remediation$|^(NodeHealthCheck|NodeMaintenance|Machine|BareMetalHost)$/;

export class Others {
  readonly #objects = new Map<string, string>();

  take({ object: { kind = '', metadata, ...rest }, type }: StoredChange): void {
    if (!kinds.test(kind)) return;
    const key = `${kind} ${metadata.namespace} ${metadata.name}`;
    if (type === 'DELETED') this.#objects.delete(key);
    else this.#objects.set(key, JSON.stringify({ metadata, rest }));
  }

  isAt(name: string, node: Node): boolean {
    const { metadata, spec } = node;
    if (metadata.deletionTimestamp !== undefined || (spec?.taints ?? []).some(({ key }) => marks.test(key)))
      return true;
    const names = [name, metadata.annotations?.['cluster.x-k8s.io/machine'], hostOf(node)].filter(
      (one) => one !== undefined,
    );
    return [...this.#objects.values()].some((text) => names.some((one) => text.includes(`"${one}"`)));
  }
}

function hostOf({ spec }: Node & { spec?: { providerID?: string } }): string | undefined {
  return spec?.providerID?.split('/').at(-2);
}
