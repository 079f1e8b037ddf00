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

const memory = {entry: null};

function memoryView() {
  if (!doc.memory) return missing('There are no addresses before pass plan.');
  if (memory.entry === null) memory.entry = Math.max(0, doc.memory.findIndex(m => doc.summary.arenas.some(a => a.class === 'activations' && a.bound_func === m.func)));
  const page = doc.memory[memory.entry];
  return h('div', {class: 'page wide'}, entryTools(doc.memory, memory, 'A rectangle is a value in its bytes. Steps run from left to right, a body once; addresses grow upwards.'),
    doc.summary.arenas.map((a, i) => [classes.indexOf(a.class), i]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, i]) => arenaMap(doc.summary.arenas[i], i, page)));
}

function missing(text) { return h('div', {class: 'page'}, h('p', {class: 'dim'}, text)); }

// entryTools returns buttons for entry points.
function entryTools(list, state, text) {
  return h('div', {class: 'tools inline'}, list.map((m, i) => h('button', {type: 'button', class: i === state.entry ? 'on' : '', onclick: () => { state.entry = i; show(); }}, '@' + m.func)), h('span', {class: 'dim'}, text));
}

// classes are the lifetime classes in the order in which their arenas are shown.
const classes = ['activations', 'scratch', 'io', 'state', 'weights'];

// fixed are the classes whose values have their bytes for good.
const fixed = ['weights', 'state'];

function arenaMap(a, index, page) {
  const always = fixed.includes(a.class);
  const lives = (always ? doc.arenas[index].lives || [] : page.lives.filter(l => l[0] === index)).map(toLife);
  const head = h('h2', null, a.space + ' ' + a.class, h('span', {class: 'figure'}, `${bytesText(a.bytes)}, ` + (a.bytes === a.bound_bytes ? 'which is the lower bound' : `${(100 * a.bytes / a.bound_bytes - 100).toFixed(1)} % above the lower bound of ${bytesText(a.bound_bytes)}`),
    a.bound_func ? `, set in @${a.bound_func}` : '', a.chunks > 1 ? `; ${a.chunks} chunks` : ''));
  if (!lives.length) return h('section', {class: 'card'}, head, h('p', {class: 'dim'}, always ? 'Nothing is in it.' : `@${page.func} uses nothing of it.`));
  const setters = new Set(a.bound_func === page.func || always ? (a.setters || []).map(s => resolve(s.value, a.bound_func)) : []);
  return h('section', {class: 'card'}, head, always ? strip(a, index, lives) : map(a, index, lives, page, setters), settersLine(a, page));
}

function toLife(l) {
  return {chunk: l[1], offset: l[2], bytes: l[3], node: doc.nodes[l[4]], first: l[5], last: l[6], slots: l[7]};
}

function settersLine(a, page) {
  if (!(a.setters || []).length) return null;
  return h('p', null, 'The lower bound is what is live at once ', settersOf(a));
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
  const steps = page.steps.length, height = Math.min(360, Math.max(90, 22 * depthOf(lives)));
  const at = scaleOf(index, steps, height, lives);
  const rects = lives.map(l => lifeRect(l, at, setters, page, seenUntil(l, lives)));
  return h('div', {class: 'scroll'}, s('svg', {class: 'map', viewBox: `0 0 ${room.width} ${height + room.top + room.below}`, role: 'img', 'aria-label': `${a.space} ${a.class} over time`},
    addressAxis(at, a), ticksOf(page, at), rects, boundLine(a, at), usedLine(lives, at, steps), stepAxis(page, at)));
}

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
  return pick(l.node.id, {class: 'life ' + (setters.has(l.node.id) ? 'setter' : '')},
    s('title', null, `${l.node.id}${l.node.op ? ' ' + l.node.op : ''}\n${bytesText(l.bytes)} at 0x${l.offset.toString(16)}${steps}`),
    s('rect', {x, y, width: w, height: hgt, rx: 2}), fits ? s('text', {x: x + 4, y: y + hgt / 2 + 4}, label + (seen > 150 ? ', ' + bytesText(l.bytes) : '')) : null);
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
  return s('path', {class: 'used', d: path}, s('title', null, 'bytes that are live'));
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
  return s('g', {class: 'steps'}, page.steps.map((n, i) => pick(doc.nodes[n].id, {class: backendClass(doc.nodes[n].backend)}, s('title', null, `${i}: ${doc.nodes[n].id} ${doc.nodes[n].op}, ${doc.nodes[n].backend}`), s('rect', {x: at.x(i) + 0.5, y, width: Math.max(1, at.x(i + 1) - at.x(i) - 1), height: 7}))),
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
  return h('div', {class: 'scroll'}, s('svg', {class: 'map', viewBox: `0 0 ${room.width} ${rows * (height + 4) + 2}`, role: 'img', 'aria-label': `${a.space} ${a.class}`}, boxes));
}

// revealMemory shows the entry point that has the value, and scrolls to the value.
function revealIn(list, state, has) {
  return id => {
    if (!list || !list.length) return;
    const e = document.querySelector('#view [data-id="' + CSS.escape(id) + '"]');
    if (!e) {
      const i = list.findIndex(p => has(p, id));
      if (i >= 0 && i !== state.entry) { state.entry = i; show(); }
      return;
    }
    const r = e.getBoundingClientRect(), v = document.getElementById('view').getBoundingClientRect();
    if (r.bottom < v.top || r.top > v.bottom || r.right < v.left || r.left > v.right) e.scrollIntoView({block: 'center', inline: 'center'});
  };
}
