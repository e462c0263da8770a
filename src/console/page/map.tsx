/** The cluster at one glance: a mark for each node, by zone. A node keeps its place; a healthy one is a quiet dot. */
import type { JSX } from 'preact';
import { memo } from 'preact/compat';
import { useCallback, useMemo, useRef } from 'preact/hooks';
import type { NodePicture } from '../picture.ts';
import { hashOf } from './route.ts';
import { markWords, Shape } from './ui.tsx';

type Size = 'tile' | 'small' | 'dot';

function sizeFor(count: number): Size {
  return count <= 60 ? 'tile' : count <= 600 ? 'small' : 'dot';
}

export function describe({ name, zone, mark, schedulable, drain, summary }: NodePicture): string {
  const parts = [name, markWords[mark], zone === '' ? undefined : `zone ${zone}`];
  if (!schedulable) parts.push('takes no pods');
  if (drain?.blocked === true) parts.push('its drain waits');
  return `${parts.filter((part) => part !== undefined).join(', ')}${summary === undefined ? '' : `. ${summary}`}`;
}

const Node = memo(function Node({ node, size }: { node: NodePicture; size: Size }): JSX.Element {
  const { name, mark } = node;
  const facts = size === 'tile' ? factsOf(node) : [];
  return (
    <a
      class={`node ${size} m-${mark}`}
      href={hashOf({ page: 'node', node: name })}
      data-node={name}
      {...(size === 'dot' ? { 'aria-label': describe(node) } : {})}
      title={size === 'tile' ? undefined : describe(node)}
      tabIndex={-1}
    >
      <Shape mark={mark} />
      {size === 'dot' ? undefined : <span class="name">{name}</span>}
      {facts.map((fact) => (
        <span key={fact} class="fact">
          {fact}
        </span>
      ))}
      {size === 'dot' ? undefined : <span class="unseen">{describe(node)}</span>}
    </a>
  );
});

/** Two at the most. */
function factsOf({ mark, pods, runs, cordoned, drain }: NodePicture): string[] {
  const load = runs.length > 0 ? runs.join(', ') : pods === 1 ? '1 pod' : `${pods} pods`;
  const state = mark === 'healthy' ? undefined : markWords[mark];
  const drained = drain?.blocked === true ? 'drain waits' : drain?.autoEvicting === true ? 'auto-evicting' : undefined;
  const closed = cordoned ? (drained === undefined ? 'cordoned' : `cordoned · ${drained}`) : undefined;
  return [state ?? closed ?? load, state === undefined && closed === undefined ? '' : load].filter(
    (fact) => fact !== '',
  );
}

export const ClusterMap = memo(function ClusterMap({ nodes }: { nodes: NodePicture[] }): JSX.Element {
  const size = sizeFor(nodes.length);
  const zones = useMemo(
    () => [...Map.groupBy(nodes, ({ zone }) => zone)].toSorted(([a], [b]) => a.localeCompare(b)),
    [nodes],
  );
  const root = useRef<HTMLDivElement>(null);
  const walk = useCallback((event: KeyboardEvent) => walkOn(event, root.current), []);
  // One stop for the tab key: from there the arrows walk.
  const enter = useCallback(() => {
    const all = root.current?.querySelectorAll<HTMLElement>('a.node');
    if (document.activeElement === root.current) all?.[0]?.focus();
  }, []);
  return (
    <div
      class={`map by-${size}`}
      ref={root}
      onKeyDown={walk}
      onFocus={enter}
      tabIndex={0}
      role="group"
      aria-label="Nodes by zone"
    >
      {zones.map(([zone, members]) => (
        <section key={zone} class="zone" aria-label={zone === '' ? 'without a zone' : `zone ${zone}`}>
          <h3>
            {zone === '' ? 'no zone' : zone} <span class="soft">{countOf(members)}</span>
          </h3>
          <div class="nodes">
            {members.map((node) => (
              <Node key={node.name} node={node} size={size} />
            ))}
          </div>
        </section>
      ))}
    </div>
  );
});

function countOf(nodes: readonly NodePicture[]): string {
  const troubled = nodes.filter(({ mark }) => mark !== 'healthy').length;
  return troubled === 0 ? String(nodes.length) : `${nodes.length}, ${troubled} not well`;
}

/** The nearest mark in the direction of the arrow. */
function walkOn(event: KeyboardEvent, root: HTMLDivElement | null): void {
  const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
  const from = document.activeElement;
  if (direction === undefined || root === null || from === null) return;
  event.preventDefault();
  const [dx = 0, dy = 0] = direction;
  const here = centre(from);
  const best = [...root.querySelectorAll<HTMLElement>('a.node')]
    .map((node) => ({ node, ...centre(node) }))
    .map(({ node, x, y }) => ({
      node,
      along: (x - here.x) * dx + (y - here.y) * dy,
      aside: Math.abs((x - here.x) * dy) + Math.abs((y - here.y) * dx),
    }))
    .filter(({ along }) => along > 4)
    .toSorted((a, b) => a.along + 3 * a.aside - (b.along + 3 * b.aside))[0];
  best?.node.focus();
}

function centre(element: Element): { x: number; y: number } {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}

export function Legend(): JSX.Element {
  const marks = ['healthy', 'suspect', 'down', 'held', 'fenced', 'quarantined', 'unknown'] as const;
  return (
    <ul class="legend" aria-label="What the marks mean">
      {marks.map((mark) => (
        <li key={mark}>
          <Shape mark={mark} /> {markWords[mark]}
        </li>
      ))}
    </ul>
  );
}
