/** Rehearse: what would this policy have done? */
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { RehearsalNews, RehearsalPicture, RehearsePage as Page } from '../picture.ts';
import type { Form } from './rehearsal.ts';
import { askedOf, askOf, choices, commandOf, endsAfter, failureWords, formOf, lookFor, rehearse } from './rehearsal.ts';
import { RehearsalResult } from './rehearsal-result.tsx';
import type { Route } from './route.ts';
import { hashOf } from './route.ts';
import { duration } from './time.ts';
import { Command, Empty, Panel, useStore } from './ui.tsx';

/** The last one, so that it is still there when the reader comes back from a node. */
let kept: { address: string; picture: RehearsalPicture } | undefined;

export function RehearsePage({ route }: { route: Route }): JSX.Element {
  const store = useStore();
  const page = store.get<Page>('page');
  if (page === undefined || page.kind !== 'rehearse' || store.head === undefined) {
    return <Empty>Waiting for the picture…</Empty>;
  }
  if (store.nodes.length === 0) return <Empty>There are no nodes that could fail.</Empty>;
  const form = formOf(route.ask ?? {}, page, store.nodes);
  // Whoever chooses another policy begins anew with its text.
  return <Rehearse key={form.from} page={page} form={form} />;
}

/** Into the address. `quietly`: without a step to go back to. */
function put(form: Form, quietly = false): void {
  const hash = hashOf({ page: 'rehearse', ask: askOf(form) });
  if (quietly) history.replaceState(null, '', hash);
  else location.hash = hash;
}

function Rehearse({ page, form: asked }: { page: Page; form: Form }): JSX.Element {
  // Absent: as it is in the cluster, also when that changes.
  const [draft, setDraft] = useState(asked.text === asked.base ? undefined : asked.text);
  const form = { ...asked, text: draft ?? asked.base };
  const address = JSON.stringify(askOf(form));
  const [news, setNews] = useState<RehearsalNews | undefined>(undefined);
  const stop = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  const run = (): void => {
    put(form, true);
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    setNews({ state: 'reads' });
    const tell = (one: RehearsalNews): void => {
      if (own.signal.aborted) return;
      if (one.state === 'done') kept = { address, picture: one.picture };
      setNews(one);
    };
    void rehearse(askedOf(form), tell, own.signal);
  };
  const leave = (): void => {
    stop.current?.abort();
    setNews(undefined);
  };
  const picture = news?.state === 'done' ? news.picture : kept?.address === address ? kept.picture : undefined;
  const isRunning = news !== undefined && ['waits', 'reads', 'runs'].includes(news.state);
  const isOld = picture !== undefined && kept?.address !== address;
  return (
    <>
      <section class="headline" aria-label="In short">
        <h1>{picture === undefined || isRunning ? 'What would this policy have done?' : sentence(picture.said)}</h1>
        <p class="soft">
          {isOld && !isRunning
            ? 'That was rehearsed before you changed what is below.'
            : 'On a copy of this cluster, in simulated time. Nothing is written to it.'}
        </p>
      </section>
      <form
        class="columns even rehearse"
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <Failure form={form} onChange={(change) => put({ ...form, ...change })}>
          <div class="run">
            <button type="submit" class="primary" disabled={isRunning}>
              Rehearse
            </button>
            {isRunning ? (
              <button type="button" onClick={leave}>
                Leave it
              </button>
            ) : undefined}
            <Progress news={news} runs={askedOf(form).policy === undefined ? 1 : 2} />
          </div>
        </Failure>
        <Policy page={page} form={form} onText={setDraft} onRun={run} news={news} />
      </form>
      {picture === undefined || isRunning ? undefined : <RehearsalResult picture={picture} />}
      <Command to="the same on the command line" command={commandOf(form)} />
    </>
  );
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

const whatWords: Readonly<Record<Form['what'], string>> = {
  node: 'a node',
  zone: 'a zone',
  switch: 'a switch',
  bmc: 'a node with a lying BMC',
};

function Failure(props: {
  form: Form;
  onChange: (change: Partial<Form>) => void;
  children: ComponentChildren;
}): JSX.Element {
  const { form, onChange, children } = props;
  const { nodes } = useStore();
  const { what, which, ends, look } = form;
  const names = choices(what, nodes);
  const known = names.includes(which) ? names : [...names, which];
  const isOfZone = what === 'zone' || what === 'switch';
  const count = nodes.filter(({ zone, name }) => (isOfZone ? zone : name) === which).length;
  const other = (next: Form['what']): string => choices(next, nodes)[0] ?? '';
  const hasZones = choices('zone', nodes).length > 0;
  return (
    <Panel title="What fails">
      <div class="fields">
        <Choice
          label="What"
          value={what}
          options={(Object.keys(whatWords) as Form['what'][])
            .filter((one) => hasZones || (one !== 'zone' && one !== 'switch'))
            .map((one) => [one, whatWords[one]])}
          onChange={(value) => {
            const next = value as Form['what'];
            const keeps = choices(next, nodes).includes(which);
            onChange({ what: next, which: keeps ? which : other(next) });
          }}
        />
        <Choice
          label={isOfZone ? 'Zone' : 'Node'}
          value={which}
          options={known.map((name) => [name, name])}
          onChange={(value) => onChange({ which: value })}
        />
        <Choice
          label="Mended"
          value={ends}
          options={endsAfter.map((one) => [one, one === '' ? 'never' : `after ${one}`])}
          onChange={(value) => onChange({ ends: value })}
        />
        <Choice
          label="Look for"
          value={look}
          options={lookFor.map((one) => [one, one])}
          onChange={(value) => onChange({ look: value })}
        />
      </div>
      <p>{failureWords(form, count)}</p>
      {children}
    </Panel>
  );
}

function Choice(props: {
  label: string;
  value: string;
  options: (readonly [value: string, word: string])[];
  onChange: (value: string) => void;
}): JSX.Element {
  const id = `choice-${props.label.toLowerCase().replaceAll(' ', '-')}`;
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      <select id={id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
        {props.options.map(([value, word]) => (
          <option key={value} value={value}>
            {word}
          </option>
        ))}
      </select>
    </div>
  );
}

function Policy(props: {
  page: Page;
  form: Form;
  onText: (text: string | undefined) => void;
  onRun: () => void;
  news: RehearsalNews | undefined;
}): JSX.Element {
  const { page, form, onText, onRun, news } = props;
  const field = useRef<HTMLTextAreaElement>(null);
  const mistakes = news?.state === 'wrong' ? news.mistakes : [];
  const isChanged = form.text !== form.base;
  const options = [
    ...page.inForce.map(({ name }) => [`in.${name}`, `in force: ${name}`] as const),
    ...page.examples.map(({ name, title }) => [`ex.${name}`, `reference: ${title}`] as const),
  ];
  const show = (line: number): void => select(field.current, line);
  return (
    <Panel title="Policy">
      <div class="fields">
        <Choice
          label="Begin with"
          value={form.from}
          options={options}
          onChange={(from) => put({ ...form, from, text: '', base: '' })}
        />
        {isChanged ? (
          <button type="button" class="quiet" onClick={() => onText(undefined)}>
            Undo all changes
          </button>
        ) : undefined}
      </div>
      <textarea
        ref={field}
        class="yaml"
        aria-label="Policy, in YAML"
        aria-invalid={mistakes.length > 0}
        {...(mistakes.length > 0 ? { 'aria-describedby': 'mistakes' } : {})}
        spellcheck={false}
        autocomplete="off"
        rows={14}
        value={form.text}
        onInput={(event) => onText(event.currentTarget.value)}
        onBlur={() => put(form, true)}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) onRun();
        }}
      />
      <div id="mistakes" role="alert">
        <ul class="mistakes">
          {mistakes.map(({ line, text }) => (
            <li key={`${line} ${text}`}>
              <button type="button" class="quiet" onClick={() => show(line)}>
                line {line}
              </button>{' '}
              {text}
            </li>
          ))}
        </ul>
      </div>
      <p class="soft">
        Edit it, or paste one. It takes the place of the policy of the same name, others stay; several are separated by{' '}
        <code>---</code>. As it is in force it has nothing to be compared with.
      </p>
    </Panel>
  );
}

function select(field: HTMLTextAreaElement | null, line: number): void {
  if (field === null) return;
  const lines = field.value.split('\n');
  const from = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  field.focus();
  field.setSelectionRange(from, from + (lines[line - 1]?.length ?? 0));
}

function Progress({ news, runs }: { news: RehearsalNews | undefined; runs: number }): JSX.Element {
  const text = progressText(news);
  const done = news?.state === 'runs' ? (news.policies === 'proposed' ? 1 : 0) + news.ms / Math.max(1, news.ofMs) : 0;
  return (
    <>
      {news?.state === 'runs' || news?.state === 'reads' ? (
        <progress max={runs} value={done} aria-label="How far it is" />
      ) : undefined}
      <span role="status" class={news?.state === 'failed' ? 'bad' : 'soft'}>
        {text}
      </span>
    </>
  );
}

function progressText(news: RehearsalNews | undefined): string {
  switch (news?.state) {
    case 'waits':
      return `waits for ${news.before === 1 ? 'another one' : `${news.before} others`} to end…`;
    case 'reads':
      return 'reads the cluster…';
    case 'runs':
      return `${news.policies}: ${duration(Math.round(news.ms / 1000) * 1000)} of ${duration(news.ofMs)}…`;
    case 'wrong':
      return 'nothing was rehearsed: the policy has mistakes';
    case 'failed':
      return news.text;
    case 'done':
    case undefined:
      return '';
  }
}
