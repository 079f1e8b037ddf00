// memory.js: for each arena a map of time against address.

const svgNS = 'http://www.w3.org/2000/svg';

// s returns an element of a drawing; see h.
function s(tag, attrs, ...children) {
  const e = document.createElementNS(svgNS, tag);
  fill(e, attrs);
  e.append(...children.flat().filter(c => c !== null && c !== undefined && c !== false));
  return e;
}

// mark returns a group that stands for a value: a click on it chooses the value.
function pick(id, attrs, ...children) {
  return s('g', {'data-id': id, tabindex: '0', role: 'link', 'aria-label': id, onclick: () => choose(id), onkeydown: e => { if (e.key === 'Enter') choose(id); }, ...attrs}, ...children);
}

const memory = {zoom: 1};

function zoomMemory(by) { memory.zoom = Math.max(1, Math.min(16, memory.zoom * by)); show(); }

function memoryView() {
  if (!doc.memory) return missing('There are no addresses before pass plan.');
  const page = doc.memory.find(m => m.func === state.func) || doc.memory[0];
  room.width = 1100 * memory.zoom;
  return h('div', {class: 'page wide'}, entryTools(doc.memory, 'A rectangle is a value in its bytes. Steps run from left to right, a body once; addresses grow upwards.'),
    h('div', {class: 'tools inline'}, h('button', {type: 'button', onclick: () => zoomMemory(2), title: 'key +'}, '+'), h('button', {type: 'button', onclick: () => zoomMemory(0.5), title: 'key −'}, '−'), h('span', {class: 'dim'}, memory.zoom + '×'), memoryLegend()),
    doc.summary.arenas.map((a, i) => [classes.indexOf(a.class), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, i]) => arenaMap(doc.summary.arenas[i], i, page)));
}

function missing(text) { return h('div', {class: 'page'}, h('p', {class: 'dim'}, text)); }

// entryButtons returns buttons for the entry points of a list of their pages. All views show the one that is chosen.
function entryButtons(list) {
  return list.map(m => h('button', {type: 'button', class: m.func === state.func ? 'on' : '', 'aria-pressed': String(m.func === state.func), onclick: () => choose(state.id, '', m.func)}, '@' + m.func));
}

function entryTools(list, text) { return h('div', {class: 'tools inline'}, entryButtons(list), h('span', {class: 'dim'}, text)); }

// memoryLegend explains the marks of the maps.
function memoryLegend() {
  const sample = (cls, ...shapes) => s('svg', {class: 'sample', width: 22, height: 12, 'aria-hidden': 'true'}, s('g', {class: cls}, shapes));
  const box = () => s('rect', {x: 1, y: 1, width: 20, height: 10, rx: 2}), rule = () => s('line', {x1: 0, x2: 22, y1: 6, y2: 6});
  return h('span', {class: 'legend'}, [[sample('life', box()), 'a value'], [sample('life setter', box()), 'a value that sets the lower bound'],
    ...(doc.memory.some(p => p.lives.some(l => l[7] > 1)) ? [[sample('life', box(), s('line', {class: 'instance', x1: 1, x2: 21, y1: 6, y2: 6})), 'one with an instance for each step under way']] : []), [sample('bound', rule()), 'lower bound'],
    [sample('', s('path', {class: 'used', d: 'M0,9H8V3H22'})), 'bytes in use'], [sample('ticks', s('line', {x1: 11, x2: 11, y1: 0, y2: 12})), 'barrier'], ...doc.targets.map(t => [sample('steps ' + backendClass(t), s('rect', {x: 1, y: 3, width: 20, height: 7})), 'below: a step on ' + t]), ...(doc.copies ? [[sample('steps copied', s('rect', {x: 1, y: 3, width: 20, height: 7})), 'below: a copy']] : [])].map(([e, text]) => h('span', {class: 'key'}, e, text)));
}

// classes are the lifetime classes in the order in which their arenas are shown.
const classes = ['activations', 'scratch', 'io', 'state', 'weights'];

// fixed are the classes whose values have their bytes for good.
const fixed = ['weights', 'state'];

function arenaMap(a, index, page) {
  const always = fixed.includes(a.class);
  const lives = (always ? doc.arenas[index].lives || [] : page.lives.filter(l => l[0] === index)).map(toLife);
  const head = h('h2', null, a.space + ' ' + a.class, h('span', {class: 'figure'}, `${bytesText(a.bytes)}, ` + (a.bytes === a.bound_bytes ? 'which is the lower bound' : `${(100 * a.bytes / a.bound_bytes - 100).toFixed(1)} % above the lower bound of ${bytesText(a.bound_bytes)}`),
    a.bound_func ? `, set in @${a.bound_func}` : '', a.bound_func && a.bound_func !== page.func && lives.length ? `; @${page.func} has at most ${bytesText(mostAtOnce(lives, index, page.steps.length))} in use at once` : '', a.chunks > 1 ? `; ${a.chunks} chunks` : ''));
  if (!lives.length) return h('section', {class: 'card'}, head, h('p', {class: 'dim'}, always ? 'Nothing is in it.' : `@${page.func} uses nothing of it.`));
  const setters = new Set(a.bound_func === page.func || always ? (a.setters || []).map(s => resolve(s.value, a.bound_func)) : []);
  return h('section', {class: 'card'}, head, always ? strip(a, index, lives) : map(a, index, lives, page, setters), settersLine(a));
}

function toLife(l) {
  return {chunk: l[1], offset: l[2], bytes: l[3], node: doc.nodes[l[4]], first: l[5], last: l[6], slots: l[7]};
}

// mostAtOnce returns the most bytes that an entry point has in use at once in an arena.
function mostAtOnce(lives, index, steps) {
  const at = scaleOf(index, steps, 1);
  let most = 0;
  for (let i = 0; i < steps; i++) most = Math.max(most, usedAt(lives, at, i));
  return most;
}

// settersLine names the values that set the lower bound. What has an instance for each step under way has its bytes for
// good, as the other steps may use them at any time.
function settersLine(a) {
  const list = a.setters || [];
  if (!list.length) return null;
  const steps = Math.max(...list.map(s => s.slots || 0)), count = list.filter(s => s.slots).length;
  return [h('p', null, 'The lower bound is what is in use at once ', settersOf(a)),
    steps ? h('p', {class: 'dim'}, `${plural(count, 'value has', 'values have')} ${steps} instances, one for each step that is under way at once (--pipeline ${steps}). Other steps may use them at any time, so they share bytes with nothing: ${bytesText(list.filter(s => s.slots).reduce((sum, s) => sum + s.bytes * s.slots, 0))} in all.`) : null];
}

// room is the drawing of a map: its size, and margins for labels.
const room = {width: 1100, left: 78, right: 12, top: 18, below: 30};

// scaleOf returns functions from steps and addresses to places in a map of this height.
function scaleOf(index, steps, height, lives) {
  const chunks = doc.arenas[index].chunks, base = [];
  let total = 0;
  for (const c of chunks) { base.push(total); total += c; }
  if (lives) total = Math.max(...lives.map(l => base[l.chunk] + l.offset + l.bytes));
  const inner = room.width - room.left - room.right;
  return {total, base, x: step => room.left + inner * step / steps, y: address => room.top + height - height * address / Math.max(total, 1), height};
}

function map(a, index, lives, page, setters) {
  const steps = page.steps.length, height = Math.min(360, Math.max(90, 22 * depthOf(lives))) * memory.zoom;
  const at = scaleOf(index, steps, height, lives);
  const rects = lives.map(l => lifeRect(l, at, setters, page, seenUntil(l, lives)));
  return h('div', {class: 'scroll'}, s('svg', {class: 'map', css: mapSize(), viewBox: `0 0 ${room.width} ${height + room.top + room.below}`, role: 'img', 'aria-label': `${a.space} ${a.class} over time`},
    addressAxis(at, a), ticksOf(page, at), rects, boundLine(a, at), usedLine(lives, at, steps), stepAxis(page, at)));
}

// mapSize is the size of a map's element, which scrolls when zoomed.
function mapSize() { return {width: 100 * memory.zoom + '%', 'min-width': 640 * memory.zoom + 'px', 'max-width': 1500 * memory.zoom + 'px'}; }

// depthOf is how many values are live at once.
function depthOf(lives) {
  const at = new Map();
  for (const l of lives) for (let i = l.first; i <= l.last; i++) at.set(i, (at.get(i) || 0) + 1);
  return Math.max(1, ...at.values());
}

// seenUntil returns the step at which another value takes over bytes of a value that is still live.
function seenUntil(l, lives) {
  return Math.min(l.last + 1, ...lives.filter(o => o !== l && o.chunk === l.chunk && o.first > l.first && o.first <= l.last && o.offset < l.offset + l.bytes && l.offset < o.offset + o.bytes).map(o => o.first));
}

function lifeRect(l, at, setters, page, until) {
  const x = at.x(l.first) + 1, w = Math.max(2, at.x(l.last + 1) - at.x(l.first) - 2);
  const low = at.base[l.chunk] + l.offset, y = at.y(low + l.bytes), hgt = Math.max(1.5, at.y(low) - y - 1);
  const label = shortName(l.node.id), seen = at.x(until) - at.x(l.first), fits = hgt > 11 && seen > 6.6 * label.length + 8;
  const steps = page ? `\nsteps ${l.first} to ${l.last}: ${nameAt(page, l.first)} to ${nameAt(page, l.last)}` : '';
  const size = l.slots > 1 ? `${l.slots} × ${bytesText(Math.round(l.bytes / l.slots))}` : bytesText(l.bytes), inner = l.slots > 1 && hgt > 3 * l.slots ? [...Array(l.slots - 1).keys()].map(i => y + hgt * (i + 1) / l.slots) : [];
  const when = l.slots > 1 ? '\nan instance for each step under way: in use for good' : steps;
  return pick(l.node.id, {class: 'life ' + (setters.has(l.node.id) ? 'setter' : '')},
    s('title', null, `${l.node.id}${l.node.op ? ' ' + l.node.op : ''}\n${size} at 0x${l.offset.toString(16)}${when}`),
    s('rect', {x, y, width: w, height: hgt, rx: 2}), inner.map(at => s('line', {class: 'instance', x1: x, x2: x + w, y1: at, y2: at})), fits ? s('text', {x: x + 4, y: y + hgt / (l.slots > 1 && inner.length ? 2 * l.slots : 2) + 4}, label + (seen > 150 ? ', ' + size : '')) : null);
}

function nameAt(page, i) { return doc.nodes[page.steps[Math.max(0, Math.min(page.steps.length - 1, i))]].id; }

function shortName(id) { const n = id.lastIndexOf('.loop') >= 0 ? id.replace(/^.*\.loop\d+\./, '') : id.replace(/^[\w-]+\.(?=v\d|[a-z_]+$)/, ''); return n.length > 28 ? n.slice(0, 27) + '…' : n; }

function addressAxis(at, a) {
  const lines = [0, 0.25, 0.5, 0.75, 1].map(f => [f * at.total, at.y(f * at.total)]);
  return s('g', {class: 'axis'}, lines.map(([v, y]) => [s('line', {x1: room.left, x2: room.width - room.right, y1: y, y2: y}), s('text', {x: room.left - 6, y: y + 4, 'text-anchor': 'end'}, bytesText(Math.round(v)))]).flat(),
    at.base.slice(1).map(b => s('line', {class: 'chunk', x1: room.left, x2: room.width - room.right, y1: at.y(b), y2: at.y(b)})));
}

// ticksOf returns a line for each barrier.
function ticksOf(page, at) {
  return s('g', {class: 'ticks'}, page.ticks.map((t, i) => i && t !== page.ticks[i - 1] ? s('line', {x1: at.x(i), x2: at.x(i), y1: room.top, y2: room.top + at.height}, s('title', null, 'barrier')) : null));
}

function boundLine(a, at) {
  const y = at.y(a.bound_bytes), what = (a.bytes > a.bound_bytes ? 'arena ' + bytesText(a.bytes) + ', ' : 'arena and ') + 'lower bound ' + bytesText(a.bound_bytes);
  if (y < room.top) return s('g', {class: 'bound'}, s('text', {x: room.width - room.right - 4, y: room.top - 5, 'text-anchor': 'end'}, '↑ ' + what));
  return s('g', {class: 'bound'}, s('line', {x1: room.left, x2: room.width - room.right, y1: y, y2: y}), s('text', {x: room.width - room.right - 4, y: y - 5, 'text-anchor': 'end'}, what));
}

// usedLine draws how many bytes are live at each step.
function usedLine(lives, at, steps) {
  let path = '';
  for (let i = 0; i < steps; i++) {
    const y = at.y(usedAt(lives, at, i));
    path += `${i ? 'L' : 'M'}${at.x(i)},${y}L${at.x(i + 1)},${y}`;
  }
  return s('path', {class: 'used', d: path}, s('title', null, 'bytes in use, with all instances'));
}

// usedAt sums the bytes that some value has at a step; values that share bytes count once.
function usedAt(lives, at, step) {
  const ranges = lives.filter(l => l.first <= step && step <= l.last).map(l => [at.base[l.chunk] + l.offset, at.base[l.chunk] + l.offset + l.bytes]).sort((a, b) => a[0] - b[0]);
  let sum = 0, end = -1;
  for (const [from, to] of ranges) { if (to > end) { sum += to - Math.max(from, end); end = to; } }
  return sum;
}

// stepAxis draws the backend of each step below a map, and the bodies with their iterations.
function stepAxis(page, at) {
  const y = room.top + at.height + 3;
  return s('g', {class: 'steps'}, page.steps.map((n, i) => pick(doc.nodes[n].id, {class: nodeClass(doc.nodes[n])}, s('title', null, `${i}: ${doc.nodes[n].id} ${doc.nodes[n].op}, ${doc.nodes[n].backend}`), s('rect', {x: at.x(i) + 0.5, y, width: Math.max(1, at.x(i + 1) - at.x(i) - 1), height: 7}))),
    (page.loops || []).map(([first, last, count]) => s('g', {class: 'loop'}, s('path', {d: `M${at.x(first) + 1},${y + 10}v4H${at.x(last + 1) - 1}v-4`}), s('text', {x: (at.x(first) + at.x(last + 1)) / 2, y: y + 25, 'text-anchor': 'middle'}, `${count} iterations`))));
}

// strip draws an arena whose values have their bytes for good: addresses run from left to right, in rows.
function strip(a, index, lives) {
  const rows = Math.min(8, Math.max(1, Math.ceil(lives.length / 24))), width = room.width - 4, height = 24;
  const at = scaleOf(index, 1, height), per = at.total / rows;
  const boxes = [];
  for (const l of lives) {
    const low = at.base[l.chunk] + l.offset, high = low + l.bytes;
    for (let r = Math.floor(low / per); r <= Math.min(rows - 1, Math.floor((high - 1) / per)); r++) {
      const x = 2 + width * (Math.max(low, r * per) - r * per) / per, w = Math.max(1, width * (Math.min(high, (r + 1) * per) - Math.max(low, r * per)) / per - 1);
      const long = l.node.id.length > 34 ? l.node.id.slice(0, 33) + '…' : l.node.id, label = w > 6.2 * long.length + 8 ? long : (/([\w-]+)(?:\.weight)?$/.exec(long) || [long])[0].replace(/\.weight$/, '');
      boxes.push(pick(l.node.id, {class: 'life'}, s('title', null, `${l.node.id}\n${bytesText(l.bytes)} at 0x${l.offset.toString(16)}, for good`), s('rect', {x, y: 2 + r * (height + 4), width: w, height, rx: 2}), w > 6.2 * label.length + 8 ? s('text', {x: x + 4, y: 2 + r * (height + 4) + 16}, label) : null));
    }
  }
  return h('div', {class: 'scroll'}, s('svg', {class: 'map', css: mapSize(), viewBox: `0 0 ${room.width} ${rows * (height + 4) + 2}`, role: 'img', 'aria-label': `${a.space} ${a.class}`}, boxes));
}

// revealInView scrolls to the first occurrence of a value, or of what reads it.
function revealInView(id) {
  const find = i => document.querySelector('#view [data-id="' + CSS.escape(i) + '"]');
  const e = find(id) || readersOf(id).map(find).find(Boolean);
  if (!e) return;
  const r = e.getBoundingClientRect(), v = document.getElementById('view').getBoundingClientRect();
  if (r.bottom < v.top || r.top > v.bottom || r.right < v.left || r.left > v.right) e.scrollIntoView({block: 'center', inline: 'center'});
}
