// main.js: views, the address, search and keys.

// of tells that a view is that of the second plan, on the page of a difference.
const of = doc.diff ? ' of B' : '';
const views = [
  ...(doc.diff ? [{name: 'diff', title: 'Difference', make: diffView}] : []),
  {name: 'summary', title: 'Summary' + of, make: summaryView},
  {name: 'passes', title: doc.diff ? 'Texts' : 'Passes', make: passesView, reveal: revealInPasses},
  {name: 'graph', title: 'Graph' + of, make: graphView, reveal: revealInGraph, mark: markEdges},
  {name: 'memory', title: 'Memory' + of, make: memoryView, reveal: revealInView},
  {name: 'time', title: 'Time' + of, make: timeView, reveal: revealInView},
];

const keyHelp = [['1 … ' + views.length, 'views'], ['/', 'find'], ['j, k', 'next and previous node'], ['+, -', 'zoom in graph, memory and time'], ['←, →', 'the view before and after, on a tab'], ['c', 'causes in the texts'], ['Esc', 'close what is open'], ['?', 'this list']];

// show makes the current view anew. What has the focus keeps it.
function show() {
  const view = views.find(v => v.name === state.view);
  const box = document.getElementById('view'), focus = box.contains(document.activeElement) ? document.activeElement : null;
  box.replaceChildren(view.make());
  const again = focus && focusOf(box, focus);
  if (again) again.focus({preventScroll: true});
  box.className = 'view-' + view.name;
  for (const t of document.querySelectorAll('#tabs a')) t.setAttribute('aria-selected', String(t.dataset.view === state.view));
  showChosen();
}

// focusOf returns the element that is in the place of one of the view before.
function focusOf(box, focus) {
  for (const name of ['data-box', 'data-id', 'data-key']) {
    const value = focus.getAttribute(name);
    if (value !== null) return box.querySelector(`[${name}="${CSS.escape(value)}"]`);
  }
  return [...box.querySelectorAll(focus.tagName)].find(e => e.textContent === focus.textContent);
}

function showChosen() {
  const view = views.find(v => v.name === state.view);
  markChosen(document.body);
  if (view.mark) view.mark();
  if (state.id && view.reveal) view.reveal(state.id);
}

// focusNext tells that the explanation of what the address names next gets the focus; shownHash is the address shown.
let focusNext = false, shownHash = '';

// applyAddress shows what the page's address names.
function applyAddress() {
  const to = readAddress();
  const view = views.some(v => v.name === to.view) ? to.view : state.view || (to.id ? 'passes' : views[0].name);
  const id = to.id ? canonical(to.id) : '';
  const func = funcs.includes(to.func) ? to.func : entryOf(id) || firstFunc();
  const changed = view !== state.view || func !== state.func;
  state.view = view;
  state.id = id;
  state.func = func;
  for (const t of document.querySelectorAll('#tabs a')) t.href = addressOf(id, t.dataset.view, func);
  showWhy();
  if (changed) show(); else showChosen();
  shownHash = location.hash;
  if (focusNext) focusWhy();
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
  for (const f of [firstFunc(), ...funcs]) if (byID.has(resolve(name, f))) return resolve(name, f);
  const at = doc.nodes.find(n => n.pos === name && n.backend) || doc.nodes.find(n => n.pos === name);
  const below = at || doc.nodes.find(n => !n.func && n.id.startsWith(name + '.')) || doc.nodes.find(n => n.pos && n.pos.startsWith(name + '.') && n.backend);
  return below ? below.id : id;
}

function findAll(text) {
  const words = text.toLowerCase().split(/\s+/).map(w => w.replace(/^[%@]/, '')).filter(Boolean);
  if (!words.length) return [];
  const hit = n => { const t = `${n.id} ${n.op || n.kind} ${n.pos || ''} ${n.backend || ''}`.toLowerCase(); return words.every(w => t.includes(w)); };
  const exact = canonical(text.trim());
  const list = byID.has(exact) ? [byID.get(exact)] : [];
  const rank = n => n.id.toLowerCase().startsWith(words[0]) ? 0 : n.id.toLowerCase().includes(words[0]) ? 1 : 2;
  return [...list, ...doc.nodes.filter(n => n.id !== exact && hit(n)).sort((a, b) => rank(a) - rank(b))].slice(0, 30);
}

function setUpSearch() {
  const input = document.getElementById('search'), list = document.getElementById('found');
  let at = 0, found = [];
  const close = () => { list.hidden = true; };
  const mark = i => { at = i; [...list.children].forEach((e, j) => e.classList.toggle('on', j === i)); };
  input.addEventListener('input', () => {
    const nodes = findAll(input.value);
    found = nodes.map(n => n.id);
    list.replaceChildren(...nodes.map(n => h('li', {role: 'option', onmousedown: e => { e.preventDefault(); close(); choose(n.id); }},
      h('span', {class: 'name'}, n.id), badge(n.backend), h('span', {class: 'dim'}, [n.op || n.kind, n.pos].filter(Boolean).join(', ')))));
    if (input.value.trim() && !list.children.length) list.append(h('li', {class: 'dim'}, 'nothing has this name'));
    list.hidden = !list.children.length;
    mark(0);
  });
  input.addEventListener('keydown', e => {
    const n = list.children.length;
    if (e.key === 'ArrowDown') mark((at + 1) % n);
    else if (e.key === 'ArrowUp') mark((at + n - 1) % n);
    else if (e.key === 'Enter' && input.value.trim()) { if (byID.has(found[at])) choose(found[at]); else choose(input.value.trim()); input.value = ''; close(); input.blur(); focusNext = true; if (location.hash === shownHash) focusWhy(); }
    else if (e.key === 'Escape') { close(); input.value = ''; input.blur(); }
    else return;
    e.preventDefault();
    e.stopPropagation();
  });
  input.addEventListener('blur', close);
}

// setUpTabs lets arrows choose the view beside the one whose tab has the focus.
function setUpTabs() {
  const tabs = document.getElementById('tabs');
  tabs.append(...views.map((v, i) => h('a', {role: 'tab', href: addressOf('', v.name), 'data-view': v.name, title: 'key ' + (i + 1)}, v.title)));
  tabs.addEventListener('keydown', e => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[e.key];
    if (!by) return;
    const i = (views.findIndex(v => v.name === e.target.dataset.view) + by + views.length) % views.length;
    tabs.children[i].focus();
    choose(state.id, views[i].name, state.func);
    e.preventDefault();
  });
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
    if (view) choose(state.id, view.name, state.func);
    else if (e.key === '/') document.getElementById('search').focus();
    else if (e.key === 'j' || e.key === 'k') step(e.key === 'j' ? 1 : -1);
    else if (state.view === 'graph' && (e.key === '+' || e.key === '-')) { graph.scale = Math.max(0.2, Math.min(2, graph.scale * (e.key === '+' ? 1.25 : 0.8))); show(); }
    else if (state.view === 'time' && (e.key === '+' || e.key === '-')) { time.zoom = Math.max(1, Math.min(64, time.zoom * (e.key === '+' ? 2 : 0.5))); show(); }
    else if (state.view === 'memory' && (e.key === '+' || e.key === '-')) zoomMemory(e.key === '+' ? 2 : 0.5);
    else if (e.key === 'c') { columns.causes = !columns.causes; show(); }
    else if (e.key === '?') help();
    else if (e.key === 'Escape' && state.id && !dialog.open) choose('', '', state.func);
    else return;
    e.preventDefault();
  });
}

document.getElementById('title').replaceChildren(doc.module, h('span', {class: 'dim'}, doc.diff ? ' difference' : ' plan'));
setUpTabs();
setUpSearch();
setUpKeys();
window.addEventListener('hashchange', applyAddress);
applyAddress();
document.body.dataset.ready = 'yes';
