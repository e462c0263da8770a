/**
 * S27: the device of one node does not delay another. Where a record says that power is about to be switched, the device
 * of that node is asked soon: an operator that keeps asking the device of another one meanwhile is held up by it. A record that
 * says what it waits for says something else; whether that is so is S25's to judge. And a device that has been asked and is silent
 * holds up nobody but its own node.
 */
import type { StoredFence } from '../cluster-state.ts';
import type { Invariant } from './checker.ts';

const switching = ['poweringOff', 'poweringOn'];
/** Longer than a pass may take, live reads that time out included. */
const patienceMs = 25_000;
/** The longest that a device is waited for. */
const questionMs = 60_000;

export const s27: Invariant = {
  id: 'S27',
  check: ({ nowMs, violated }) => {
    /** Nodes whose device is waited for, by when that was recorded. */
    const waiting = new Map<string, { step: string; sinceMs: number }>();
    /** When a device was asked that has not answered. */
    const askedMs = new Map<string, number>();
    const freeMs = (node: string): number => Math.max(nowMs(), (askedMs.get(node) ?? -Infinity) + questionMs);
    return {
      onStored({ type, object }) {
        if (object.kind !== 'NodeFence') return;
        const { spec, status } = object as StoredFence;
        const node = spec?.node ?? '';
        const { phase = '', stepStartedAt = '', startedAt = '', waitsFor } = status?.fence ?? {};
        // What is held back says so, and waits for what holds it.
        const isSwitching = switching.includes(phase) && waitsFor === undefined && status?.hold === undefined;
        // Whoever takes it over begins anew.
        const step = [phase, stepStartedAt, startedAt, status?.holder].join(' ');
        if (type === 'DELETED' || spec?.stop === true || !isSwitching) waiting.delete(node);
        else if (waiting.get(node)?.step !== step) waiting.set(node, { step, sinceMs: freeMs(node) });
      },
      onWire(event) {
        if (event.type === 'started') for (const known of [waiting, askedMs]) known.clear();
        if (event.type === 'answered') askedMs.delete(event.node);
        if (event.type !== 'device') return;
        askedMs.set(event.node, nowMs());
        const own = waiting.get(event.node);
        if (own !== undefined) own.sinceMs = Infinity;
        for (const [node, { sinceMs }] of waiting) {
          if (nowMs() - sinceMs <= patienceMs) continue;
          violated(`the device of ${node} is not asked while that of ${event.node} is`);
          waiting.delete(node);
        }
      },
    };
  },
};
