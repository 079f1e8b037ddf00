// main.js: views, the address, search and keys.

// of tells that a view is that of the second plan, on the page of a difference.
const of = doc.diff ? ' of B' : '';
const views = [
  ...(doc.diff ? [{name: 'diff', title: 'Difference', make: diffView}] : []),
  {name: 'summary', title: 'Summary' + of, make: summaryView},
  {name: 'passes', title: doc.diff ? 'Texts' : 'Passes', make: passesView, reveal: revealInPasses},
  {name: 'graph', title: 'Graph' + of, make: graphView, reveal: revealInGraph, mark: markEdges},
  {name: 'memory', title: 'Memory' + of, make: memoryView, reveal: revealIn(doc.memory, memory, (p, id) => p.lives.some(l => doc.nodes[l[4]].id === id))},
  {name: 'time', title: 'Time' + of, make: timeView, reveal: revealIn(doc.time || doc.measured, time, (p, id) => p.bars.some(b => b[1] >= 0 && doc.nodes[b[1]].id === id))},
];

const keyHelp = [['1 … ' + views.length, 'views'], ['/', 'find'], ['j, k', 'next and previous node'], ['+, -', 'zoom in graph and time'], ['c', 'causes in the texts'], ['Esc', 'close what is open'], ['?', 'this list']];

// show makes the current view anew.
function show() {
  const view = views.find(v => v.name === state.view);
  const box = document.getElementById('view');
  box.replaceChildren(view.make());
  box.className = 'view-' + view.name;
  for (const t of document.querySelectorAll('#tabs a')) t.setAttribute('aria-selected', String(t.dataset.view === state.view));
  showChosen();
}

function showChosen() {
  const view = views.find(v => v.name === state.view);
  markChosen(document.body);
  if (view.mark) view.mark();
  if (state.id && view.reveal) view.reveal(state.id);
}

// applyAddress shows what the page's address names.
function applyAddress() {
  const to = readAddress();
  const view = views.some(v => v.name === to.view) ? to.view : state.view || (to.id ? 'passes' : views[0].name);
  const id = to.id ? canonical(to.id) : '';
  const changed = view !== state.view;
  state.view = view;
  state.id = id;
  for (const t of document.querySelectorAll('#tabs a')) t.href = addressOf(id, t.dataset.view);
  showWhy();
  if (changed) show(); else showChosen();
}

// ofLabel returns the id of the node that a label of an error or timeline names, such as @prefill split 3[l=2]: %a = copy
// %b, or of the first node of its split; nothing if there is none.
function ofLabel([, func, split, what]) {
  const entry = doc.summary.entries.find(e => e.func === func || e.func === JSON.stringify(func));
  if (!entry) return '';
  const node = /^%("(?:[^"\\]|\\.)*"|[^\s,:]+)/.exec(what || '');
  if (node && byID.has(resolve(node[1], entry.func))) return resolve(node[1], entry.func);
  const s = (entry.splits || []).find(s => s.number === +split);
  return s ? resolve(s.first, s.func) : '';
}

// canonical returns the id that a name of the command explain means: decode.v37, %v37, blk.3.ffn, blk.3.ffn_up, a label.
function canonical(text) {
  const label = /^@(.+?) split (\d+)(?:\[l=\d+\])?(?:: ?(.*))?$/.exec(text.trim());
  if (label) return ofLabel(label) || text;
  const name = text.trim().replace(/\[l=\d+\]$/, '');
  const id = resolve(name, '');
  if (byID.has(id)) return id;
  for (const e of doc.summary.entries) if (byID.has(resolve(name, e.func))) return resolve(name, e.func);
  const at = doc.nodes.find(n => n.pos === name && n.backend) || doc.nodes.find(n => n.pos === name);
  const below = at || doc.nodes.find(n => !n.func && n.id.startsWith(name + '.')) || doc.nodes.find(n => n.pos && n.pos.startsWith(name + '.') && n.backend);
  return below ? below.id : id;
}

function findAll(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  if (!words.length) return [];
  const hit = n => { const t = `${n.id} ${n.op || n.kind} ${n.pos || ''} ${n.backend || ''}`.toLowerCase(); return words.every(w => t.includes(w)); };
  const exact = canonical(text.trim());
  const list = byID.has(exact) ? [byID.get(exact)] : [];
  const rank = n => n.id.toLowerCase().startsWith(words[0]) ? 0 : n.id.toLowerCase().includes(words[0]) ? 1 : 2;
  return [...list, ...doc.nodes.filter(n => n.id !== exact && hit(n)).sort((a, b) => rank(a) - rank(b))].slice(0, 30);
}

function setUpSearch() {
  const input = document.getElementById('search'), list = document.getElementById('found');
  let at = 0;
  const close = () => { list.hidden = true; };
  const mark = i => { at = i; [...list.children].forEach((e, j) => e.classList.toggle('on', j === i)); };
  input.addEventListener('input', () => {
    list.replaceChildren(...findAll(input.value).map(n => h('li', {role: 'option', onmousedown: e => { e.preventDefault(); close(); choose(n.id); }},
      h('span', {class: 'name'}, n.id), badge(n.backend), h('span', {class: 'dim'}, [n.op || n.kind, n.pos].filter(Boolean).join(', ')))));
    if (input.value.trim() && !list.children.length) list.append(h('li', {class: 'dim'}, 'nothing has this name'));
    list.hidden = !list.children.length;
    mark(0);
  });
  input.addEventListener('keydown', e => {
    const n = list.children.length;
    if (e.key === 'ArrowDown') mark((at + 1) % n);
    else if (e.key === 'ArrowUp') mark((at + n - 1) % n);
    else if (e.key === 'Enter' && n) { list.children[at].dispatchEvent(new MouseEvent('mousedown', {cancelable: true})); input.blur(); }
    else if (e.key === 'Escape') { close(); input.blur(); }
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  input.addEventListener('blur', close);
}

// step chooses the node so many after the chosen one.
function step(by) {
  const list = doc.nodes.filter(n => n.kind === 'node');
  const i = list.findIndex(n => n.id === state.id);
  const next = list[i < 0 ? 0 : Math.max(0, Math.min(list.length - 1, i + by))];
  if (next) choose(next.id);
}

function setUpKeys() {
  const dialog = document.getElementById('keys');
  const help = () => dialog.open ? dialog.close() : dialog.showModal();
  dialog.append(h('h2', null, 'Keys'), h('dl', null, keyHelp.map(([k, what]) => [h('dt', null, k), h('dd', null, what)]).flat()),
    h('p', {class: 'dim'}, 'A click on a name chooses it in all views. The address of the page names view and value: it can be kept and shared.'),
    h('button', {type: 'button', onclick: help}, 'close'));
  document.getElementById('help').addEventListener('click', help);
  document.addEventListener('keydown', e => {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(?:INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    const view = views[+e.key - 1];
    if (view) choose(state.id, view.name);
    else if (e.key === '/') document.getElementById('search').focus();
    else if (e.key === 'j' || e.key === 'k') step(e.key === 'j' ? 1 : -1);
    else if (state.view === 'graph' && (e.key === '+' || e.key === '-')) { graph.scale = Math.max(0.2, Math.min(2, graph.scale * (e.key === '+' ? 1.25 : 0.8))); show(); }
    else if (state.view === 'time' && (e.key === '+' || e.key === '-')) { time.zoom = Math.max(1, Math.min(64, time.zoom * (e.key === '+' ? 2 : 0.5))); show(); }
    else if (e.key === 'c') { columns.causes = !columns.causes; show(); }
    else if (e.key === '?') help();
    else if (e.key === 'Escape' && state.id && !dialog.open) choose('');
    else return;
    e.preventDefault();
  });
}

document.getElementById('title').replaceChildren(doc.module, h('span', {class: 'dim'}, doc.diff ? ' difference' : ' plan'));
document.getElementById('tabs').append(...views.map((v, i) => h('a', {role: 'tab', href: addressOf('', v.name), 'data-view': v.name, title: 'key ' + (i + 1)}, v.title)));
setUpSearch();
setUpKeys();
window.addEventListener('hashchange', applyAddress);
applyAddress();
document.body.dataset.ready = 'yes';
