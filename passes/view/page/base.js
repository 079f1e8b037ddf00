'use strict';
// base.js: the document, elements, numbers, and which value is chosen.

// hidden matches characters that do not print, or that change the direction of writing; lines may end.
const hidden = /(?!\n)[\p{C}\p{Zl}\p{Zp}]/gu;

const visible = text => text.replace(hidden, c => '\\u{' + c.codePointAt(0).toString(16) + '}');

// In the document, characters that do not print are JSON escapes. They are shown as escapes, too; few documents have any.
const raw = document.getElementById('data').textContent;
const doc = JSON.parse(raw, /\\u(?!003[ce]|0026)/.test(raw) ? (_, value) => typeof value === 'string' ? visible(value) : value : undefined);

// byID has the pages of nodes, parameters and members by their ids.
const byID = new Map(doc.nodes.map(n => [n.id, n]));

// inEntry maps ENTRY.VALUE to the id of a value of a body in that entry point, as decode.v37 to decode.loop0.v37.
const inEntry = new Map();
for (const n of doc.nodes) {
  if (!n.func || !n.id.startsWith(n.func + '.')) continue;
  const parts = splitFunc(n.func);
  if (parts.length < 2) continue;
  const short = parts[0] + '.' + n.id.slice(n.func.length + 1);
  if (!byID.has(short) && !inEntry.has(short)) inEntry.set(short, n.id);
}

// splitFunc returns the entry point of a function and what follows it; a name in quotes is an entry point.
function splitFunc(name) {
  const dot = name.startsWith('"') ? -1 : name.indexOf('.loop');
  return dot < 0 ? [name] : [name.slice(0, dot), name.slice(dot + 1)];
}

// h returns an element. Attributes that begin with on are handlers; children are elements or texts. Nothing is ever
// parsed as HTML.
function h(tag, attrs, ...children) {
  const e = document.createElement(tag);
  fill(e, attrs);
  e.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return e;
}

function fill(e, attrs) {
  for (const [name, value] of Object.entries(attrs || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) e.addEventListener(name.slice(2), value);
    else if (name === 'class') e.setAttribute('class', value);
    else if (name === 'css') for (const [k, v] of Object.entries(value)) e.style.setProperty(k, v);
    else e.setAttribute(name, value === true ? '' : value);
  }
}

// bytesText, secondsText and countText are numbers with units, as the command explain prints them.
function bytesText(n) {
  let x = n, unit = 'B';
  for (const larger of ['KiB', 'MiB', 'GiB', 'TiB']) {
    if (x < 1024) break;
    x /= 1024;
    unit = larger;
  }
  return (x < 999.5 ? +x.toPrecision(3) : Math.floor(x)) + ' ' + unit;
}

function secondsText(s) {
  if (!s) return '';
  const [factor, unit] = s < 1e-6 ? [1e9, 'ns'] : s < 1e-3 ? [1e6, 'µs'] : s < 1 ? [1e3, 'ms'] : [1, 's'];
  return +(s * factor).toPrecision(3) + ' ' + unit;
}

function countText(n) {
  return String(n).replace(/\B(?=(\d{3})+$)/g, '\u2009');
}

function flopsText(n) {
  let i = 0;
  for (; n >= 10000 && i < 4; i++) n /= 1000;
  return +n.toPrecision(4) + ' ' + ['', 'k', 'M', 'G', 'T'][i] + 'FLOP';
}

function plural(n, one, many) { return countText(n) + ' ' + (n === 1 ? one : many); }

// backendClass returns the class that colours a backend.
function backendClass(name) {
  const i = doc.targets.indexOf(name);
  return i < 0 ? '' : 'b' + i % 8;
}

function badge(name) {
  return name ? h('span', {class: 'badge ' + backendClass(name)}, name) : null;
}

// isCopy tells a copy. Queues of either side may run one, so that it has a colour of its own.
const isCopy = n => n.op === 'copy' || n.op === 'copy_experts';

// nodeClass returns the class that colours a node.
function nodeClass(n) { return isCopy(n) ? 'copied' : backendClass(n.backend); }

// state is the view, the chosen value, and the entry point that the views show. The page's address has all of them:
// #ID&view=NAME&func=NAME. Without func it is the entry point of the value, or the first one.
const state = {view: '', id: '', func: ''};

const funcs = doc.summary.entries.map(e => e.func);

// firstFunc returns the entry point that is shown first: the smallest step of the model.
function firstFunc() { return funcs.includes('decode') ? 'decode' : funcs[0] || ''; }

// entryOf returns the entry point of a value; nothing for a weight or state.
function entryOf(id) {
  const n = byID.get(id);
  return n && n.func ? splitFunc(n.func)[0] : '';
}

function addressOf(id, view, func) {
  const usual = entryOf(id) || firstFunc(), shown = func || entryOf(id) || state.func || usual;
  return '#' + encodeURIComponent(id || '') + (view ? '&view=' + encodeURIComponent(view) : '') + (shown === usual ? '' : '&func=' + encodeURIComponent(shown));
}

function readAddress() {
  const parts = location.hash.slice(1).split('&');
  const text = s => { try { return decodeURIComponent(s); } catch { return s; } };
  const named = name => text((parts.find(r => r.startsWith(name + '=')) || '').slice(name.length + 1));
  return {id: /^(?:view|func)=/.test(parts[0]) ? '' : text(parts[0]), view: named('view'), func: named('func')};
}

// choose makes a value the chosen one, in a view or in the one that is shown, and at an entry point or at its own.
function choose(id, view, func) {
  const address = addressOf(id, view || state.view, func);
  if (location.hash !== address) location.hash = address; else applyAddress();
}

// resolve returns the id that a name has in a function: of a value there, of a member, or of a value of a body.
function resolve(name, func) {
  name = name.replace(/^%/, '');
  const local = func ? func + '.' + name : name;
  for (const id of [local, name, inEntry.get(local), inEntry.get(name)]) if (id && byID.has(id)) return id;
  if (func) {
    const entry = splitFunc(func)[0] + '.' + name;
    if (byID.has(entry)) return entry;
  }
  return local;
}

// link returns a link to a value, by which all its occurrences are found.
function link(id, label, cls) {
  return h('a', {class: 'id ' + (cls || ''), href: addressOf(id, state.view), 'data-id': id, draggable: 'false'}, label || id);
}

// markChosen marks the occurrences of the chosen value below an element, and of the nodes that read it if it is a weight
// or state.
function markChosen(root) {
  for (const e of root.querySelectorAll('.chosen, .reader')) e.classList.remove('chosen', 'reader');
  const mark = (id, cls) => { for (const e of root.querySelectorAll('[data-id="' + CSS.escape(id) + '"]')) e.classList.add(cls); };
  if (state.id) mark(state.id, 'chosen');
  for (const id of readersOf(state.id)) mark(id, 'reader');
}

// readersOf returns the nodes that read a weight or state, as its explanation lists them; nothing for a node.
function readersOf(id) {
  const n = byID.get(id);
  if (!n || n.func) return [];
  const list = [];
  for (const line of n.text.map(i => doc.lines[i])) {
    const func = functionIn(line);
    if (/^\s*(?:read|written) by /.test(line) && func) for (const m of line.matchAll(/%(?:"(?:[^"\\]|\\.)*"|[\w.\-]+)/g)) list.push(resolve(m[0].replace(/\.+$/, ''), func));
  }
  return list;
}

// functionIn returns the function that a line of a member's explanation names.
function functionIn(line) { return (/ in @((?:"(?:[^"\\]|\\.)*"|[^\s,:])+)/.exec(line) || [])[1]; }
