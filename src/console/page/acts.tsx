/** What a person can do to a node. What cannot be taken back wants the name of the node typed. */
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { NodeAct } from '../picture.ts';
import { path, post } from './store.ts';
import { Dialog } from './ui.tsx';

const words: Readonly<Record<NodeAct, { label: string; warning?: string }>> = {
  approve: { label: 'Approve' },
  stop: { label: 'Stop' },
  resume: { label: 'Resume' },
  fence: {
    label: 'Fence now…',
    warning:
      'Its power is cut while it runs; what runs there ends without a shutdown, and is released when its device says off.',
  },
};

export function ActButton({ act, node, incident }: { act: NodeAct; node: string; incident?: string }): JSX.Element {
  const [asks, setAsks] = useState(false);
  const [told, setTold] = useState('');
  const { label, warning } = words[act];
  const send = async (typed?: string): Promise<void> => {
    setAsks(false);
    setTold('…');
    const { text } = await post(path('acts', act, node), { incident, typed });
    setTold(text);
  };
  return (
    <span class="act">
      <button
        type="button"
        class={warning === undefined ? '' : 'danger'}
        onClick={() => (warning === undefined ? void send() : setAsks(true))}
      >
        {label}
      </button>
      <span class="told" role="status">
        {told}
      </span>
      {asks ? (
        <Confirm node={node} warning={warning ?? ''} label={label} onClose={() => setAsks(false)} onSure={send} />
      ) : undefined}
    </span>
  );
}

function Confirm(props: {
  node: string;
  warning: string;
  label: string;
  onClose: () => void;
  onSure: (typed: string) => Promise<void>;
}): JSX.Element {
  const [typed, setTyped] = useState('');
  const isRight = typed.trim() === props.node;
  const submit = (event: Event): void => {
    event.preventDefault();
    if (isRight) void props.onSure(typed.trim());
  };
  return (
    <Dialog title={`${props.label.replace('…', '')}: ${props.node}`} onClose={props.onClose}>
      <form onSubmit={submit}>
        <p>{props.warning}</p>
        <label>
          Type the name of the node to go on
          <input
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
          />
        </label>
        <button type="submit" class="danger" disabled={!isRight}>
          {props.label.replace('…', '')}
        </button>
      </form>
    </Dialog>
  );
}
