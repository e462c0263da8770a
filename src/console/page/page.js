// Draws the snapshots that the server streams. Elements are kept and updated in place, so that a button does not vanish
// under the pointer of whoever is about to press it.
const cards = new Map();
const status = document.querySelector('#connection');
const element = (tag, className, text = '') => {
  const made = document.createElement(tag);
  if (className) made.className = className;
  made.textContent = text;
  return made;
};

function cardOf(name) {
  if (cards.has(name)) return cards.get(name);
  const root = element('article');
  root.dataset.node = name;
  // Six buttons have the same name: whoever hears the page has to know whose they are.
  root.setAttribute('aria-label', name);
  const head = element('h3');
  const verdict = element('span', 'verdict');
  head.append(element('span', '', name), verdict);
  const parts = {
    root,
    verdict,
    explanation: element('p'),
    facts: element('p', 'facts'),
    evidence: element('p', 'evidence'),
  };
  parts.pods = element('ul', 'pods');
  parts.replicas = element('ul', 'pods replicas');
  parts.drain = element('p', 'drain');
  parts.recovery = element('ul', 'recovery');
  parts.plug = button(name, () => (parts.power === 'on' ? 'power-off' : 'power-on'));
  parts.cable = button(name, () => (parts.linked ? 'partition' : 'heal'));
  parts.cordon = button(name, () => (parts.cordoned ? 'uncordon' : 'drain'));
  const actions = element('div', 'actions');
  actions.append(parts.plug, parts.cable, parts.cordon);
  root.append(
    head,
    parts.explanation,
    parts.facts,
    parts.pods,
    parts.replicas,
    parts.drain,
    parts.recovery,
    actions,
    parts.evidence,
  );
  document.querySelector('#nodes').append(root);
  cards.set(name, parts);
  return parts;
}

function button(node, action) {
  const made = element('button');
  made.type = 'button';
  made.addEventListener('click', () => {
    const request = { method: 'POST', headers: { 'x-fenceline-console': '1' } };
    fetch(`nodes/${encodeURIComponent(node)}/${action()}`, request).catch(() => {
      status.textContent = 'not done: connection lost';
    });
  });
  return made;
}

function podLine(pod) {
  const state = pod.terminating ? 'terminating' : pod.ready ? 'running' : 'waiting';
  const volumes = pod.volumes.length > 0 ? ` · ${pod.volumes.join(', ')}` : '';
  return element('li', state, `${pod.name} · ${state === 'waiting' ? pod.phase.toLowerCase() : state}${volumes}`);
}

// PoweringOff is two words to a reader.
function wordsOf(reason) {
  return reason.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ').toLowerCase();
}

const replicaWords = {
  healthy: 'healthy replica',
  building: 'replica being made',
  repairing: 'replica being repaired',
  failed: 'failed replica',
};

function replicaLine({ volume, state }) {
  return element('li', state === 'healthy' ? '' : state, `${volume} · ${replicaWords[state]}`);
}

// What a drain of a cordoned node waits for, or that it waits for nothing.
function drainLine({ drain, pods }) {
  if (!drain) return '';
  const why = drain.message ? ` · ${drain.message}` : '';
  if (drain.blocked) return `a drain waits: ${wordsOf(drain.reason ?? 'Unknown')}${why}`;
  return `${pods.length === 0 ? 'drained' : 'a drain may go on'}${why}`;
}

// What was let go, on whose word, and what everybody waits for.
function recoveryLines({ hold, fence, stage, waitsFor, stuck, releases }) {
  const lines = releases.map(({ at, basis, by, pods, ended }) => {
    const state = ended ? 'released' : 'releasing';
    const line = element('li', state, `${state} ${pods.join(', ')} · ${basis}${by ? ` · ${by}` : ''}`);
    line.prepend(element('time', '', new Date(at).toLocaleTimeString()));
    return line;
  });
  if (fence) {
    lines.push(element('li', 'fence', `fence: ${wordsOf(fence.reason)}${fence.message ? ` · ${fence.message}` : ''}`));
  }
  for (const { pod, why, until } of stuck) {
    const when = until ? ` · until ${new Date(until).toLocaleTimeString()}` : '';
    lines.push(element('li', 'stuck', `${pod} waits: ${why}${when}`));
  }
  if (hold) lines.push(element('li', 'stuck', `on hold: ${hold}`));
  if (stage) lines.push(element('li', 'returning', `on its way back: ${stage}${waitsFor ? `, ${waitsFor}` : ''}`));
  return lines;
}

function draw(snapshot) {
  for (const node of snapshot.nodes) {
    const card = cardOf(node.name);
    card.power = node.power;
    card.linked = node.linked;
    card.cordoned = node.cordoned;
    card.verdict.textContent = node.verdict ?? '…';
    card.verdict.className = `verdict ${node.verdict ?? ''}`;
    card.explanation.textContent = node.explanation ?? 'not judged yet';
    const marks = node.taints.filter((taint) => taint.startsWith('fenceline.dev/'));
    card.facts.textContent = [
      `zone ${node.zone}`,
      `Ready ${node.ready}`,
      node.schedulable ? 'schedulable' : 'unschedulable',
      ...(node.drain?.autoEvicting ? ['auto-evicting'] : []),
      ...marks,
    ].join(' · ');
    card.recovery.replaceChildren(...(node.recovery ? recoveryLines(node.recovery) : []));
    card.evidence.textContent = node.evidence.join(' · ');
    card.plug.textContent = node.power === 'on' ? 'Pull the plug' : 'Plug in';
    card.cable.textContent = node.linked ? 'Cut its network' : 'Mend its network';
    card.cordon.textContent = node.cordoned ? 'Uncordon' : 'Drain';
    card.drain.textContent = drainLine(node);
    card.drain.classList.toggle('waits', node.drain?.blocked === true);
    card.pods.replaceChildren(...node.pods.map(podLine));
    card.replicas.replaceChildren(...node.replicas.map(replicaLine));
  }
  const present = new Set(snapshot.nodes.map((node) => node.name));
  for (const [name, card] of cards) {
    if (present.has(name)) continue;
    card.root.remove();
    cards.delete(name);
  }
  document.querySelector('#waiting').replaceChildren(...snapshot.waiting.map(podLine));
  document.querySelector('#story').replaceChildren(
    ...snapshot.story.map(({ at, text }) => {
      const line = element('li');
      line.append(element('time', '', new Date(at).toLocaleTimeString()), text);
      return line;
    }),
  );
}

const events = new EventSource('events');
events.addEventListener('open', () => {
  status.textContent = 'live';
});
events.addEventListener('error', () => {
  status.textContent = 'connection lost; what you see is old. Trying again…';
});
events.addEventListener('message', ({ data }) => draw(JSON.parse(data)));
