/**
 * S6: a taint that drives pods away, or says that nothing runs there, is never put on a Ready node, only on one that was read live right
 * before, and only when its machine can really write to nothing any more. That of a release by power, and the word before it that
 * the node is not Ready, only when its machine is really off: whoever says that a node is not Ready could taint any.
 */
import { isReady } from '../../world/objects/meta.ts';
import type { Node } from '../../world/objects/nodes.ts';
import type { CheckContext, Invariant } from './checker.ts';
import { succeeded } from './checker.ts';
import { isLying, Offs } from './devices.ts';
import { Reads } from './reads.ts';
import { assertingKeys, outOfService } from './s5-not-while-restarting.ts';

export const s6: Invariant = {
  id: 'S6',
  check: (context) => {
    const reads = new Reads();
    const offs = new Offs(context);
    return {
      onWire(event) {
        reads.take(event);
        offs.take(event);
      },
      onMachine({ type }, machine) {
        if (type === 'off') offs.fell(machine);
      },
      onWrite(write) {
        if (write.resource !== 'nodes' || !succeeded(write)) return;
        if (isReady(write.before as Node) && write.after !== undefined && !isReady(write.after as Node)) {
          offs.judge(
            write.after.metadata.name,
            `${write.after.metadata.name} was said not to be Ready while its machine is on`,
          );
        }
        const had = driving(write.before);
        const added = [...driving(write.after)].filter((taint) => !had.has(taint));
        if (added.length === 0) return;
        const name = write.after?.metadata.name ?? '';
        const path = `/api/v1/nodes/${name}`;
        const what = `${name} got the taint ${added.join(', ')}`;
        if (isReady(write.before as Node)) context.violated(`${what} while it is Ready`);
        else if (!isHarmless(context, name)) {
          const told = `${what} while its machine can still write`;
          if (isLying(context, name)) context.exempt('LyingDevice', told);
          else context.violated(told);
        } else if (!reads.sinceWrite(write.user, path)) {
          context.violated(`${what} without a live read of it before`);
        } else if (added.some((taint) => taint.startsWith(outOfService))) {
          offs.judge(name, `${what} while its machine is on`);
        }
        reads.wrote(write.user, path);
      },
    };
  },
};

function driving(node: Node | undefined): Set<string> {
  const taints = (node?.spec?.taints ?? []).filter(
    // Kubernetes heeds out-of-service with whatever effect.
    ({ key, effect }) => effect === 'NoExecute' || assertingKeys.includes(key),
  );
  return new Set(taints.map(({ key, effect }) => `${key}:${effect}`));
}

function isHarmless({ machineOf, isActive }: CheckContext, node: string): boolean {
  const machine = machineOf(node);
  if (machine === undefined || machine.power === 'off') return true;
  return [...machine.processes.values()].every((process) => !isActive(node, process));
}
