/** The frame of all pages: where one is, whether it is live, and the keys. */
import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { MorePage } from './more-pages.tsx';
import { NodePage } from './node-page.tsx';
import { NowPage } from './now-page.tsx';
import { RehearsePage } from './rehearse-page.tsx';
import type { Route } from './route.ts';
import { hashOf, pageOf, routeOf } from './route.ts';
import { SignIn } from './sign-in.tsx';
import type { Telling } from './stage.tsx';
import { beginning, StoryBar, StoryContext } from './stage.tsx';
import type { Edge, Store } from './store.ts';
import { clock, duration } from './time.ts';
import { Dialog, markWords, NowContext, Shape, StoreContext } from './ui.tsx';

const tabs: { page: Route['page']; label: string }[] = [
  { page: 'now', label: 'Now' },
  { page: 'workloads', label: 'Workloads' },
  { page: 'devices', label: 'Devices' },
  { page: 'policies', label: 'Policies' },
  { page: 'rehearse', label: 'Rehearse' },
  { page: 'drains', label: 'Drains' },
  { page: 'record', label: 'Record' },
];

export function App({ store, edge }: { store: Store; edge: Edge }): JSX.Element {
  const [, draw] = useState(0);
  const [now, setNow] = useState(store.now());
  const [route, setRoute] = useState(routeOf(location.hash));
  const [open, setOpen] = useState<'find' | 'keys' | undefined>(undefined);
  const [telling, setTelling] = useState<Telling | undefined>(undefined);
  useEffect(() => store.subscribe(() => draw((count) => count + 1)), [store]);
  useEffect(() => everySecond(edge, () => setNow(store.now())), [store]);
  useEffect(() => follow(setRoute), []);
  useEffect(() => store.open(pageOf(route)), [route.page, route.node, route.incident]);
  useEffect(() => keys({ onFind: () => setOpen('find'), onKeys: () => setOpen('keys') }), []);
  useEffect(() => {
    document.title = route.node === undefined ? 'Fenceline' : `${route.node} · Fenceline`;
  }, [route.node]);
  if (store.connection === 'signIn') return <SignIn onDone={() => store.open(pageOf(route))} />;
  const start = (story: Telling['story']): void => setTelling(beginning(story, store));
  return (
    <StoreContext.Provider value={store}>
      <NowContext.Provider value={now}>
        <StoryContext.Provider value={{ start }}>
          <Top route={route} store={store} onFind={() => setOpen('find')} onKeys={() => setOpen('keys')} />
          <main class={telling === undefined ? '' : 'with-story'}>
            <Doubt store={store} />
            <Page route={route} />
          </main>
          {telling === undefined ? undefined : (
            <StoryBar
              telling={telling}
              onStep={(step) => setTelling({ ...telling, step })}
              onEnd={() => setTelling(undefined)}
            />
          )}
          {open === 'find' ? <Find store={store} onClose={() => setOpen(undefined)} /> : undefined}
          {open === 'keys' ? <Keys onClose={() => setOpen(undefined)} /> : undefined}
        </StoryContext.Provider>
      </NowContext.Provider>
    </StoreContext.Provider>
  );
}

function Page({ route }: { route: Route }): JSX.Element {
  if (route.page === 'now') return <NowPage />;
  if (route.page === 'rehearse') return <RehearsePage route={route} />;
  return route.page === 'node' ? <NodePage route={route} /> : <MorePage name={route.page} />;
}

function everySecond(edge: Edge, callback: () => void): () => void {
  let cancel = edge.after(1000, function again() {
    callback();
    cancel = edge.after(1000, again);
  });
  return () => cancel();
}

function follow(onRoute: (route: Route) => void): () => void {
  let before = pageOf(routeOf(location.hash));
  const changed = (): void => {
    const route = routeOf(location.hash);
    onRoute(route);
    // What is opened on a page, or asked of it, leaves the reader where he is.
    if (route.lane === undefined && (pageOf(route) !== before || route.page === 'node')) scrollTo(0, 0);
    before = pageOf(route);
  };
  addEventListener('hashchange', changed);
  return () => removeEventListener('hashchange', changed);
}

/** Not while somebody types. */
function keys({ onFind, onKeys }: { onFind: () => void; onKeys: () => void }): () => void {
  const pressed = (event: KeyboardEvent): void => {
    const target = event.target as HTMLElement;
    const isTyping = ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || document.querySelector('dialog[open]') !== null)
      return;
    if (event.key === '/') {
      event.preventDefault();
      onFind();
    }
    if (event.key === '?') onKeys();
    if (event.key === 'Escape' && location.hash !== '' && location.hash !== '#/') location.hash = '#/';
  };
  addEventListener('keydown', pressed);
  return () => removeEventListener('keydown', pressed);
}

function Top({
  route,
  store,
  onFind,
  onKeys,
}: {
  route: Route;
  store: Store;
  onFind: () => void;
  onKeys: () => void;
}): JSX.Element {
  return (
    <header class="top">
      <a class="brand" href="#/" aria-label="Fenceline, all nodes">
        <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
          <path d="M2 3v10M6 3v10M10 3v10M14 3v10M1 6h14M1 11h14" />
        </svg>
        Fenceline
      </a>
      <nav aria-label="Pages">
        {tabs.map(({ page, label }) => (
          <a key={page} href={hashOf({ page })} aria-current={route.page === page ? 'page' : undefined}>
            {label}
          </a>
        ))}
      </nav>
      <span class="grow" />
      <Live store={store} />
      <button type="button" class="quiet" onClick={onFind}>
        Find <kbd>/</kbd>
      </button>
      <button type="button" class="quiet" onClick={onKeys} aria-label="Keys">
        <kbd>?</kbd>
      </button>
      <Theme />
    </header>
  );
}

function Live({ store }: { store: Store }): JSX.Element {
  const words = { connecting: 'connecting', live: 'live', lost: 'not live', signIn: '' }[store.connection];
  return (
    <span class={`live c-${store.connection}`} role="status">
      {words}
      {store.head?.user === undefined ? '' : ` · ${store.head.user}`}
    </span>
  );
}

/** What is not known, and since when. */
function Doubt({ store }: { store: Store }): JSX.Element | null {
  const unheard = store.unheardMs();
  if (store.connection === 'lost' && store.at > 0) {
    return (
      <p class="doubt" role="alert">
        No word from the console for {duration(Math.floor(unheard / 1000) * 1000)}; what you see is from{' '}
        {clock(store.at)}. Trying again…
      </p>
    );
  }
  if (store.silentMs === 0) return null;
  return (
    <p class="doubt" role="alert">
      No word from the API server for {duration(Math.floor(store.silentMs / 1000) * 1000)}; what you see is from{' '}
      {clock(store.at - store.silentMs)}.
    </p>
  );
}

const themes = ['auto', 'light', 'dark'] as const;

function Theme(): JSX.Element {
  const [theme, setTheme] = useState(localStorage.getItem('theme') ?? 'auto');
  useEffect(() => {
    document.documentElement.dataset['theme'] = theme;
    localStorage.setItem('theme', theme);
  }, [theme]);
  const next = themes[(themes.indexOf(theme as 'auto') + 1) % themes.length] ?? 'auto';
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => setTheme(next)}
      aria-label={`Colours: ${theme}. Change to ${next}`}
    >
      {theme === 'dark' ? 'Dark' : theme === 'light' ? 'Light' : 'Auto'}
    </button>
  );
}

const maxFound = 12;

function Find({ store, onClose }: { store: Store; onClose: () => void }): JSX.Element {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const found = store.nodes.filter(({ name, zone }) => `${name} ${zone}`.includes(text.trim())).slice(0, maxFound);
  const go = (node: string | undefined): void => {
    if (node === undefined) return;
    onClose();
    location.hash = hashOf({ page: 'node', node });
  };
  const pressed = (event: KeyboardEvent): void => {
    if (event.key === 'ArrowDown') setAt(Math.min(at + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(at - 1, 0));
    else if (event.key === 'Enter') go(found[at]?.name);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Find a node" onClose={onClose}>
      <input
        ref={input}
        class="find"
        value={text}
        aria-label="Name or zone"
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={pressed}
      />
      <ul class="found">
        {found.map(({ name, mark, zone }, index) => (
          <li key={name}>
            <button type="button" class={index === at ? 'chosen' : ''} onClick={() => go(name)}>
              <Shape mark={mark} /> {name}{' '}
              <span class="soft">
                {markWords[mark]}
                {zone === '' ? '' : `, ${zone}`}
              </span>
            </button>
          </li>
        ))}
      </ul>
      {found.length === 0 ? <p class="empty">No node of this name.</p> : undefined}
    </Dialog>
  );
}

function Keys({ onClose }: { onClose: () => void }): JSX.Element {
  const all = [
    ['/', 'find a node'],
    ['arrows', 'walk over the map'],
    ['Enter', 'open what is chosen'],
    ['Tab', 'go to the next mark or button'],
    ['Esc', 'close, or go back to all nodes'],
    ['?', 'this list'],
  ];
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {all.map(([key, what]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
