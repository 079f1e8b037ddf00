// graph.js: nodes in boxes, a lane for each backend. The places of nodes in their boxes are computed by ggmlc; here boxes
// are put below each other.

const graph = {open: new Map(), scale: 1};

// sizes of a drawing; those of nodes are as in graph.go.
const cell = {width: 168, height: 36, pad: 12, head: 24, gap: 18, lane: 40};

function graphView() {
  const list = doc.graphs;
  const page = list.find(g => g.func === state.func) || list[0];
  if (!graph.open.has(page)) graph.open.set(page, new Set(page.boxes.map((_, i) => i).filter(i => !page.boxes[i].count)));
  const open = graph.open.get(page), zoom = by => () => { graph.scale = Math.max(0.2, Math.min(2, graph.scale * by)); show(); };
  const all = page.boxes.map((_, i) => i);
  const drawing = graphDrawing(page, open);
  return h('div', {class: 'graph'},
    h('div', {class: 'tools'}, entryButtons(list),
      h('button', {type: 'button', onclick: () => { graph.open.set(page, new Set(all)); show(); }}, 'open all'),
      h('button', {type: 'button', onclick: () => { graph.open.set(page, new Set()); show(); }}, 'close all'),
      h('button', {type: 'button', onclick: zoom(1.25), title: 'key +'}, '+'), h('button', {type: 'button', onclick: zoom(0.8), title: 'key −'}, '−'),
      h('button', {type: 'button', onclick: () => fitGraph(true), title: 'all of the graph'}, 'fit'), h('button', {type: 'button', onclick: () => fitGraph(false), title: 'all lanes'}, 'fit width'),
      h('span', {class: 'dim'}, 'A click on the head of a box opens or closes it. Thick lines are copies between memory spaces; long thin ones are shown for the chosen node.'), doc.targets.map(badge)),
    h('div', {class: 'canvas', tabindex: '0', 'aria-label': 'Graph'}, drawing));
}

// fitGraph makes the drawing as large as the window is, or as wide.
function fitGraph(all) {
  const canvas = document.querySelector('.canvas'), drawing = canvas.querySelector('svg');
  const wide = (canvas.clientWidth - 12) / (drawing.clientWidth / graph.scale), high = (canvas.clientHeight - 12) / (drawing.clientHeight / graph.scale);
  graph.scale = Math.max(0.02, Math.min(1, wide, all ? high : 1));
  show();
}

function graphDrawing(page, open) {
  const at = placeBoxes(page, open), edges = graphEdges(page, at);
  const content = s('g', {transform: `scale(${graph.scale})`}, at.lanes.map(l => s('g', {class: 'lanehead'}, s('text', {x: l.x + l.width / 2, y: 16, 'text-anchor': 'middle'}, l.name || 'no backend yet'))),
    at.boxes.map((b, i) => b && boxFrame(page, i, b)), edges.map(e => edgeShape(page, e)), at.boxes.map((b, i) => b && boxHead(page, i, b, open)), edges.map(edgeLabel), page.nodes.map((n, i) => at.node(i).box === n[1] && at.shown(n[1]) ? nodeShape(n, at.node(i)) : null));
  return s('svg', {width: (at.width + 20) * graph.scale, height: (at.height + 20) * graph.scale, role: 'img', 'aria-label': 'Graph of @' + page.func}, s('defs', null, s('marker', {id: 'arrow', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 8, markerHeight: 8, markerUnits: 'userSpaceOnUse', orient: 'auto'}, s('path', {d: 'M0,0L8,4L0,8z', class: 'tip'}))), content);
}

// placeBoxes puts the boxes below each other, each in the lane of its backend. A closed box hides what is in it.
function placeBoxes(page, open) {
  const boxes = page.boxes.map(() => null), kids = page.boxes.map(() => []);
  const roots = [];
  page.boxes.forEach((b, i) => (b.parent < 0 ? roots : kids[b.parent]).push(i));
  const count = page.boxes.map(() => 0);
  for (const n of page.nodes) for (let i = n[1]; i >= 0; i = page.boxes[i].parent) count[i]++;
  const lanes = lanesOf(page, open);
  let y = 30;
  const place = (i, depth) => {
    const b = page.boxes[i], inside = depth * 8, first = firstLeaf(page, kids, i), lane = lanes.find(l => l.name === (page.boxes[first].backend || '')) || lanes[lanes.length - 1];
    const shape = boxes[i] = {x: lane.x + inside, y, width: lane.width - 2 * inside, open: open.has(i), count: count[i]};
    y += cell.head;
    if (shape.open && b.count) {
      const [from, to] = span2(kids[i].flatMap(k => leaves(kids, k)).map(k => lanes.find(l => l.name === (page.boxes[k].backend || ''))));
      shape.x = from.x + inside;
      shape.width = to.x + to.width - inside - shape.x;
      y += cell.pad;
      for (const k of kids[i]) place(k, depth + 1);
    } else if (shape.open) y += b.height + 2 * cell.pad;
    shape.height = y - shape.y;
    y += cell.gap;
  };
  roots.filter(i => count[i]).forEach(i => place(i, 0));
  const last = lanes[lanes.length - 1];
  const visible = i => { for (let j = page.boxes[i].parent; j >= 0; j = page.boxes[j].parent) if (!open.has(j)) return false; return true; };
  return {boxes, lanes, width: last.x + last.width, height: y, shown: i => visible(i) && open.has(i), node: i => nodePlace(page, boxes, visible, open, page.nodes[i])};
}

function span2(list) { const sorted = list.filter(Boolean).sort((a, b) => a.x - b.x); return [sorted[0], sorted[sorted.length - 1]]; }
function leaves(kids, i) { return kids[i].length ? kids[i].flatMap(k => leaves(kids, k)) : [i]; }
function firstLeaf(page, kids, i) { return leaves(kids, i)[0]; }

// lanesOf returns a lane for each backend that has boxes, as wide as the widest of them.
function lanesOf(page, open) {
  const used = new Map();
  page.boxes.forEach((b, i) => { if (!b.count && b.width) used.set(b.backend || '', Math.max(used.get(b.backend || '') || 230, open.has(i) ? b.width + 2 * cell.pad + 16 : 0)); });
  if (used.has('') && used.size > 1) { const w = used.get(''), host = doc.targets[doc.targets.length - 1]; if (used.has(host)) { used.delete(''); used.set(host, Math.max(used.get(host), w)); } }
  const names = [...used.keys()].sort((a, b) => doc.targets.indexOf(a) - doc.targets.indexOf(b));
  let x = 10;
  return names.map(name => { const lane = {name, x, width: used.get(name)}; x += lane.width + cell.lane; return lane; });
}

// nodePlace returns where a node is, or the closed box that hides it.
function nodePlace(page, boxes, visible, open, n) {
  let hidden = -1;
  for (let i = n[1]; i >= 0; i = page.boxes[i].parent) if (!open.has(i)) hidden = i;
  if (hidden >= 0) { const b = boxes[hidden]; return {box: -1, key: 'b' + hidden, x: b.x, y: b.y, width: b.width, height: b.height}; }
  const b = boxes[n[1]], left = b.x + (b.width - page.boxes[n[1]].width) / 2;
  return {box: n[1], key: n, x: left + n[2], y: b.y + cell.head + cell.pad + n[3], width: cell.width, height: cell.height};
}

function boxFrame(page, i, b) {
  const box = page.boxes[i];
  return s('g', {class: 'box ' + (box.count ? 'repeat ' : '') + backendClass(box.backend)}, s('rect', {class: 'frame', x: b.x, y: b.y, width: b.width, height: b.height, rx: 6}));
}

function boxHead(page, i, b, open) {
  const box = page.boxes[i], toggle = () => { if (open.has(i)) open.delete(i); else open.add(i); show(); };
  const label = (box.count ? `${box.label}, ${box.count} ×` : box.label) + (b.open ? '' : `, ${plural(b.count, 'node', 'nodes')}`), most = Math.floor((b.width - 30) / 6.6);
  return s('g', {class: 'box ' + (box.count ? 'repeat ' : '') + backendClass(box.backend)},
    s('g', {class: 'head', tabindex: '0', role: 'button', 'aria-expanded': String(b.open), 'data-box': String(i), onclick: toggle, onkeydown: e => { if (e.key === 'Enter') toggle(); }}, s('title', null, label + (box.backend ? ' on ' + box.backend : '')),
      s('rect', {x: b.x, y: b.y, width: b.width, height: cell.head, rx: 6}), s('text', {x: b.x + 9, y: b.y + 16}, (b.open ? '▾ ' : '▸ ') + (label.length > most ? label.slice(0, most - 1) + '…' : label))));
}

function nodeShape(n, at) {
  const node = doc.nodes[n[0]], copy = isCopy(node), name = shortName(node.id);
  return pick(node.id, {class: 'node ' + (copy ? 'copynode ' : '') + nodeClass(node)}, s('title', null, `${node.id} ${node.op || node.kind}${node.backend ? ' on ' + node.backend : ''}${node.pos ? ', from ' + node.pos : ''}`),
    s('rect', {x: at.x, y: at.y, width: at.width, height: at.height, rx: copy ? 18 : 4}), s('text', {class: 'op', x: at.x + at.width / 2, y: at.y + 15, 'text-anchor': 'middle'}, node.op || 'input'),
    s('text', {class: 'small', x: at.x + at.width / 2, y: at.y + 29, 'text-anchor': 'middle'}, name.length > 24 ? name.slice(0, 23) + '…' : name));
}

// graphEdges returns the edges between what is shown. Several between the same two are one.
function graphEdges(page, at) {
  const drawn = new Map();
  for (const [from, to, bytes, copy] of page.edges) {
    const a = at.node(from), b = at.node(to);
    const key = (a.box < 0 ? a.key : from) + ' ' + (b.box < 0 ? b.key : to);
    if (a.box < 0 && a.key === b.key) continue;
    const e = drawn.get(key) || {a, b, bytes: 0, copies: 0, from, to};
    if (copy) { e.copies++; e.bytes += bytes; } else if (!e.copies) e.bytes = Math.max(e.bytes, bytes);
    drawn.set(key, e);
  }
  return [...drawn.values()];
}

// farEdge is from which height an edge is hidden, unless one of its ends is chosen.
const farEdge = 800;

function edgeShape(page, e) {
  const x1 = e.a.x + e.a.width / 2, y1 = e.a.y + e.a.height, x2 = e.b.x + e.b.width / 2, y2 = e.b.y;
  const far = y2 - y1 > 70 && Math.abs(x1 - x2) < cell.width, side = e.a.x + e.a.width, other = e.b.x + e.b.width, out = Math.max(side, other) + 6 + Math.min(30, (y2 - y1) / 14);
  const bend = Math.max(14, Math.min(60, Math.abs(y2 - y1) / 2));
  const path = far && e.a.box >= 0 && e.b.box >= 0 ? `M${side},${y1 - e.a.height / 2}C${out},${y1 - e.a.height / 2} ${out},${y1} ${out},${y1 + 12}V${y2 - 4}C${out},${y2 + e.b.height / 2 - 6} ${out},${y2 + e.b.height / 2} ${other},${y2 + e.b.height / 2}`
    : `M${x1},${y1}C${x1},${y1 + bend} ${x2},${y2 - bend} ${x2},${y2}`;
  const text = copiedText(e);
  const ends = [page.nodes[e.from], page.nodes[e.to]];
  return s('g', {class: 'edge ' + (e.copies ? 'copy ' : '') + (ends[0][1] === 0 ? 'fromin ' : '') + (!e.copies && y2 - y1 > farEdge ? 'far' : ''), 'data-ends': ends.map(n => doc.nodes[n[0]].id).join('\n')}, s('title', null, `${doc.nodes[page.nodes[e.from][0]].id} → ${doc.nodes[page.nodes[e.to][0]].id}: ${text}`), s('path', {class: 'wide', d: path}), s('path', {d: path, 'marker-end': 'url(#arrow)'}),
  );
}

// edgeLabel returns the bytes of a copy beside the end of its line, on the side where the line does not come from.
function edgeLabel(e) {
  const x = e.b.x + e.b.width / 2, left = e.a.x + e.a.width / 2 > x;
  return e.copies ? s('g', {class: 'edge copy'}, s('text', {x: left ? x - 7 : x + 7, y: e.b.y - 2, 'text-anchor': left ? 'end' : 'start'}, copiedText(e))) : null;
}

function copiedText(e) { return (e.copies > 1 ? e.copies + ' copies, ' : '') + bytesText(e.bytes); }

// markEdges marks the edges of the chosen node.
function markEdges() {
  for (const e of document.querySelectorAll('.canvas .edge[data-ends]')) e.classList.toggle('hot', e.dataset.ends.split('\n').includes(state.id));
}

// revealInGraph opens the boxes around a node, or around what reads a weight, and scrolls to it.
function revealInGraph(id) {
  const page = doc.graphs.find(g => g.func === state.func), open = graph.open.get(page);
  if (!open) return;
  const all = new Set([id, ...readersOf(id)]), found = page.nodes.filter(n => all.has(doc.nodes[n[0]].id));
  const boxes = [];
  for (const n of found) for (let b = n[1]; b >= 0; b = page.boxes[b].parent) boxes.push(b);
  if (boxes.some(b => !open.has(b))) { boxes.forEach(b => open.add(b)); show(); return; }
  if (!found.length) return;
  const e = document.querySelector('.canvas [data-id="' + CSS.escape(doc.nodes[found[0][0]].id) + '"]'), canvas = document.querySelector('.canvas');
  const r = e.getBoundingClientRect(), v = canvas.getBoundingClientRect();
  if (r.bottom > v.bottom || r.top < v.top) canvas.scrollTop += r.top - v.top - v.height / 2;
  if (r.right > v.right || r.left < v.left) canvas.scrollLeft += r.left - v.left - v.width / 2;
}
