/** Where the page begins, and where time comes in. */
import { render } from 'preact';
import { App } from './app.tsx';
import type { Edge } from './store.ts';
import { Store } from './store.ts';

const edge: Edge = {
  now: () => Date.now(),
  after(delayMs, callback) {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};

const app = document.querySelector('#app');
if (app !== null) render(<App store={new Store(edge)} edge={edge} />, app);
