// time.js: what runs when, predicted and measured.

const time = {zoom: 1};

// things that are no nodes.
const barrierThing = -1, waitThing = -2;

function timeView() {
  const list = doc.time || doc.measured;
  if (!list) return missing('Times are not known: there are none before pass partition, and none for backends without rates.');
  const page = list.find(t => t.func === state.func) || list[0];
  const measured = (doc.measured || []).find(m => m.func === page.func);
  const zoom = by => () => { time.zoom = Math.max(1, Math.min(64, time.zoom * by)); show(); };
  return h('div', {class: 'page wide'}, entryTools(list, ''), h('div', {class: 'tools inline'}, h('button', {type: 'button', onclick: zoom(2), title: 'key +'}, '+'), h('button', {type: 'button', onclick: zoom(0.5), title: 'key −'}, '−'), h('span', {class: 'dim'}, `${time.zoom}×; barriers are grey, waits of the host are hollow`), h('span', {class: 'badge copied'}, 'copies'), doc.targets.map(badge)),
    doc.time ? lanesCard('Predicted', page, scaleFor(page, measured)) : null,
    measured ? lanesCard('Measured', measured, scaleFor(measured, page)) : null,
    doc.time ? waitsCard(page) : null,
    callBeforeCard(page.func),
    busiest(page, measured));
}

// manyWaits is how many waits a table shows at first.
const manyWaits = 10;

// waitsCard lists where threads wait, as predicted: before which node, and for what.
function waitsCard(page) {
  const rows = new Map();
  let whole = 0;
  page.bars.forEach(([lane, thing, begin, duration], i) => {
    if (thing !== barrierThing && thing !== waitThing) return;
    const next = page.bars.slice(i + 1, i + 50).find(b => b[1] >= 0);
    const other = thing === waitThing ? endingAt(page, lane, begin + duration) : null;
    const key = [thing, next ? next[1] : '', other ? other[1] : ''].join();
    const row = rows.get(key) || {thing, next, other, times: 0, time: 0};
    row.times++;
    row.time += duration;
    whole += duration;
    rows.set(key, row);
  });
  const list = [...rows.values()].sort((a, b) => b.time - a.time), groups = waitGroups(page, list);
  if (!list.length) return h('section', {class: 'card'}, h('h2', null, 'Where threads wait'), h('p', null, 'Nowhere, as predicted.'));
  const reason = r => r.thing === barrierThing ? barrierReason(r.next) : queueReason(page, r.other);
  const rowOf = r => [r.next ? h('span', null, link(doc.nodes[r.next[1]].id), ' ' + doc.nodes[r.next[1]].op) : 'the end', r.thing === barrierThing ? 'barrier' : 'queue', h('span', null, reason(r)),
    countText(r.times), secondsText(r.time / 1e9), bar(r.time, page.seconds * 1e9)];
  return h('section', {class: 'card'}, h('h2', null, 'Where threads wait', h('span', {class: 'figure'}, `${secondsText(whole / 1e9)}, ${(100 * whole / (page.seconds * 1e9 || 1)).toFixed(0)} % of a call, as predicted`)),
    table(['at a', 'because', 'such as before', '>times a call', '>time', 'share'], groups.map(g => [g.at, g.because, h('span', null, g.rows.slice(0, 3).map((r, i) => [i ? ', ' : '', r.next ? link(doc.nodes[r.next[1]].id) : 'the end']).flat(), g.rows.length > 3 ? ` and ${g.rows.length - 3} more` : ''), countText(g.times), secondsText(g.time / 1e9), bar(g.time, page.seconds * 1e9)])),
    h('h3', null, 'Each of them'), foldedTable('waits', ['before', 'at a', 'because', '>times a call', '>time', 'share'], list.map(rowOf), manyWaits));
}

// waitGroups returns the waits by their causes: rules for barriers, lanes for queues.
function waitGroups(page, list) {
  const groups = new Map();
  for (const r of list) {
    const at = r.thing === barrierThing ? 'barrier' : 'queue';
    const because = at === 'barrier' ? barrierReason(r.next).filter(e => typeof e === 'string').join('').replace(/(\([\w.-]+\)):.*$/, '$1') : r.other ? page.lanes[r.other[0]] + ' has to end' : 'a queue is not empty';
    const g = groups.get(at + because) || {at, because, rows: [], times: 0, time: 0};
    g.rows.push(r);
    g.times += r.times;
    g.time += r.time;
    groups.set(at + because, g);
  }
  return [...groups.values()].sort((a, b) => b.time - a.time);
}

// callBeforeCard lists the waits for events of the call before, which a single call does not show.
function callBeforeCard(func) {
  const rows = [];
  for (const n of doc.nodes) {
    if (n.kind !== 'node' || entryOf(n.id) !== func) continue;
    const line = n.text.map(i => doc.lines[i]).find(l => / of the call before(?:,|$)/.test(l) && /^ {2}(?:the host|submitted)/.test(l));
    if (line) rows.push([link(n.id), ' ' + n.op, /^ {2}the host/.test(line) ? 'host' : /queue (\S+?)(?:,|$)/.exec(line)[1], h('span', null, explained(/waits for (events? (?:(?!waits for).)*) of the call before/.exec(line)[1], n.func))]);
  }
  if (!rows.length) return null;
  return h('section', {class: 'card'}, h('h2', null, 'What waits for the call before', h('span', {class: 'figure'}, 'calls in a row may overlap; the times above are of one call, for which these events have happened')),
    foldedTable('waits', ['before', '', 'on', 'waits for'], rows, manyWaits));
}

// endingAt returns what ends on another lane when a wait does; null for nothing.
function endingAt(page, lane, end) {
  let last = null;
  for (const b of page.bars) if (b[0] !== lane && b[1] >= 0 && b[2] + b[3] <= end + 2 && (!last || b[2] + b[3] > last[2] + last[3])) last = b;
  return last;
}

// barrierReason returns the cause that the node after a barrier has for it.
function barrierReason(next) {
  if (!next) return [];
  const n = doc.nodes[next[1]];
  const line = n.text.map(i => doc.lines[i]).find(l => /because a barrier comes before it: /.test(l));
  return line ? explained(line.replace(/^.*a barrier comes before it: /, ''), n.func) : ['each iteration begins with a barrier: it uses what another thread used at the end of the one before'];
}

function queueReason(page, other) {
  return other ? [`${page.lanes[other[0]]} has to end `, link(doc.nodes[other[1]].id), ' ' + doc.nodes[other[1]].op] : 'a queue is not empty';
}

const lane = {height: 26, names: 110, left: 14};

function lanesCard(title, page, longest) {
  const width = Math.max(720, document.getElementById('view').clientWidth - 80 - lane.names) * time.zoom, scale = (width - lane.left - 10) / (longest * 1e9 || 1);
  const height = page.lanes.length * (lane.height + 6) + 24;
  const busy = page.lanes.map(() => 0);
  const bars = page.bars.map(b => { if (b[1] !== waitThing && b[1] !== barrierThing) busy[b[0]] += b[3]; return timeBar(page, b, scale); });
  return h('section', {class: 'card'}, h('h2', null, title, h('span', {class: 'figure'}, secondsText(page.seconds) + (page.cut ? '; only the first part is drawn' : '') + (page.note ? '; ' + page.note : ''))),
    h('div', {class: 'scroll timeline'}, s('svg', {class: 'lanenames', width: lane.names, height, viewBox: `0 0 ${lane.names} ${height}`},
      page.lanes.map((name, i) => s('g', {class: 'lane'}, s('text', {x: 0, y: i * (lane.height + 6) + 13}, name.length > 16 ? name.slice(0, 15) + '…' : name), s('text', {class: 'small', x: 0, y: i * (lane.height + 6) + 25}, `${(100 * busy[i] / (page.seconds * 1e9 || 1)).toFixed(0)} % busy`)))), s('svg', {class: 'lanes', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title + ' times'}, timeAxis(longest, scale, height), bars)));
}

function timeAxis(seconds, scale, height) {
  const raw = seconds / (8 * time.zoom), power = 10 ** Math.floor(Math.log10(raw || 1));
  const step = [1, 2, 5, 10].map(f => f * power).find(v => v >= raw) || raw;
  const marks = [];
  for (let v = 0; v <= seconds * 1.0001 && marks.length < 1000; v += step) marks.push(v);
  return s('g', {class: 'axis'}, marks.map(v => [s('line', {x1: lane.left + v * 1e9 * scale, x2: lane.left + v * 1e9 * scale, y1: 0, y2: height - 18}), s('text', {x: lane.left + v * 1e9 * scale, y: height - 4, 'text-anchor': 'middle'}, v ? secondsText(v) : '0')]).flat());
}

function timeBar(page, [row, thing, begin, duration, iteration], scale) {
  const x = lane.left + begin * scale, width = Math.max(0.4, duration * scale), y = row * (lane.height + 6);
  const when = `\n${secondsText(duration / 1e9) || '0 s'}, from ${secondsText(begin / 1e9) || '0 s'}` + (iteration ? `, iteration ${iteration}` : '');
  const rect = attrs => s('rect', {x, y, width, height: lane.height, rx: width > 4 ? 2 : 0, ...attrs});
  if (thing >= 0) {
    const n = doc.nodes[thing], label = `${n.op} ${shortName(n.id)}`;
    return pick(n.id, {class: 'run ' + nodeClass(n)}, s('title', null, `${n.id} ${n.op}${when}`), rect(), width > 6.2 * label.length + 6 ? s('text', {x: x + 4, y: y + 17}, label) : null);
  }
  if (thing === barrierThing || thing === waitThing) return s('g', {class: thing === waitThing ? 'waiting' : 'barrier'}, s('title', null, (thing === waitThing ? 'waits for a queue' : 'barrier') + when), rect());
  const name = page.names[-3 - thing];
  return s('g', {class: 'run other'}, s('title', null, name + when), rect(), width > 6.2 * name.length + 6 ? s('text', {x: x + 4, y: y + 17}, name) : null);
}

// scaleFor returns the time that a drawing shows: both calls have the same, unless one would be too small to see.
function scaleFor(page, other) {
  const longest = Math.max(page.seconds, other ? other.seconds : 0);
  return longest > 8 * page.seconds ? page.seconds : longest;
}

// manyBusy is how many nodes the table of times has.
const manyBusy = 15;

// busiest lists the nodes that take longest, and what the host waits for.
function busiest(page, measured) {
  const rows = new Map();
  const add = (p, field) => { for (const [lane, thing, , duration] of p.bars) { const r = rows.get(thing) || {thing, predicted: 0, measured: 0, runs: 0, lanes: new Set()}; r[field] += duration; if (field === 'measured') r.lanes.add(lane); if (field === 'predicted' || !measured) r.runs++; rows.set(thing, r); } };
  add(page, 'predicted');
  if (measured) add(measured, 'measured');
  for (const r of rows.values()) r.measured /= r.lanes.size || 1;
  const list = [...rows.values()].filter(r => r.thing > -3).sort((a, b) => Math.max(b.predicted, b.measured) - Math.max(a.predicted, a.measured)).slice(0, manyBusy);
  const name = t => t === barrierThing ? 'barriers' : t === waitThing ? 'waits for queues' : [link(doc.nodes[t].id), ' ' + doc.nodes[t].op];
  const heads = ['what', 'backend', '>times', '>predicted', 'share'], share = r => bar(r.predicted, page.seconds * 1e9, r.thing >= 0 ? nodeClass(doc.nodes[r.thing]) : '');
  if (measured) heads.push('>measured, mean of lanes', '>of predicted');
  return h('section', {class: 'card'}, h('h2', null, 'What takes longest'), table(heads, list.map(r => [h('span', null, name(r.thing)), r.thing < 0 ? '' : isCopy(doc.nodes[r.thing]) ? h('span', {class: 'badge copied'}, 'copy') : badge(doc.nodes[r.thing].backend), countText(r.runs), secondsText(r.predicted / 1e9), share(r),
    ...(measured ? [secondsText(r.measured / 1e9), r.predicted && r.measured ? (r.measured / r.predicted).toFixed(2) + '×' : ''] : [])])));
}
