/** Small things that every page has. */
import type { ComponentChildren, JSX } from 'preact';
import { createContext } from 'preact';
import { useContext, useEffect, useState } from 'preact/hooks';
import type { NodeMark } from '../picture.ts';
import type { Store } from './store.ts';
import { clock, exact, relative, withTimes } from './time.ts';

export const StoreContext = createContext<Store | undefined>(undefined);

/** Draws again whenever there is news. */
export function useStore(): Store {
  const store = useContext(StoreContext);
  if (store === undefined) throw new Error('there is no store');
  const [, draw] = useState(0);
  useEffect(() => store.subscribe(() => draw((count) => count + 1)), [store]);
  return store;
}

export const NowContext = createContext(0);

/** By the server's clock, once a second. */
export function useNow(): number {
  return useContext(NowContext);
}

/** How long ago, or how soon; the exact time on hover. */
export function When({ at }: { at: string | number }): JSX.Element {
  const now = useNow();
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exact(atMs)}>
      {relative(atMs, now)}
    </time>
  );
}

export function Clock({ at }: { at: string | number }): JSX.Element {
  const atMs = typeof at === 'number' ? at : Date.parse(at);
  return (
    <time dateTime={new Date(atMs).toISOString()} title={exact(atMs)}>
      {clock(atMs)}
    </time>
  );
}

/** What somebody else has written; times in it are read in the reader's zone. */
export function Said({ text }: { text: string }): JSX.Element {
  return (
    <>{withTimes(text).map((part, at) => (typeof part === 'string' ? part : <Clock key={at} at={part.atMs} />))}</>
  );
}

export const markWords: Readonly<Record<NodeMark, string>> = {
  healthy: 'healthy',
  suspect: 'suspect',
  down: 'down',
  fenced: 'being fenced',
  held: 'held back',
  quarantined: 'in quarantine',
  unknown: 'not known',
};

/** Colour and shape: it reads in grey too. */
export function Shape({ mark }: { mark: NodeMark }): JSX.Element {
  return <span class={`shape s-${mark}`} aria-hidden="true" />;
}

export function Command({ to, command }: { to: string; command: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = (): void => void navigator.clipboard?.writeText(command).then(() => setCopied(true));
  return (
    <div class="command">
      <span class="to">
        <Said text={to} />
      </span>
      {/* It may be longer than a phone is wide: who has no mouse scrolls it by the keyboard. */}
      <code tabIndex={0}>{command}</code>
      <button type="button" class="quiet" onClick={copy} aria-label={`Copy: ${command}`}>
        {copied ? 'Copied' : 'Copy'}
      </button>
    </div>
  );
}

export function Panel(props: {
  title: string;
  id?: string;
  aside?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const id = props.id ?? props.title.toLowerCase().replaceAll(/\W+/g, '-');
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{props.title}</h2>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** A dialog of the browser: it keeps the focus, and Esc closes it. */
export function Dialog(props: { title: string; onClose: () => void; children: ComponentChildren }): JSX.Element {
  const open = (element: HTMLDialogElement | null): void => {
    if (element !== null && !element.open) element.showModal();
  };
  return (
    <dialog ref={open} onClose={props.onClose} aria-label={props.title}>
      <header>
        <h2>{props.title}</h2>
        <button type="button" class="quiet" onClick={props.onClose} aria-label="Close">
          Close
        </button>
      </header>
      {props.children}
    </dialog>
  );
}

export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="empty">{children}</p>;
}

/** Greys carry the page; a table is one too. */
export function Table(props: { heads: string[]; label: string; children: ComponentChildren }): JSX.Element {
  return (
    <div class="table" tabIndex={0} role="group" aria-label={props.label}>
      <table>
        <thead>
          <tr>
            {props.heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{props.children}</tbody>
      </table>
    </div>
  );
}
