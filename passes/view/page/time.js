// time.js: what runs when, predicted and measured.

const time = {entry: null, zoom: 1};

// things that are no nodes.
const barrierThing = -1, waitThing = -2;

function timeView() {
  const list = doc.time || doc.measured;
  if (!list) return missing('Times are not known: there are none before pass partition, and none for backends without rates.');
  if (time.entry === null) time.entry = Math.max(0, list.findIndex(t => t.func === firstFunc()));
  const page = list[time.entry];
  const measured = (doc.measured || []).find(m => m.func === page.func);
  const zoom = by => () => { time.zoom = Math.max(1, Math.min(64, time.zoom * by)); show(); };
  return h('div', {class: 'page wide'}, entryTools(list, time, ''), h('div', {class: 'tools inline'}, h('button', {type: 'button', onclick: zoom(2), title: 'key +'}, '+'), h('button', {type: 'button', onclick: zoom(0.5), title: 'key −'}, '−'), h('span', {class: 'dim'}, `${time.zoom}×; barriers are grey, waits are hollow`)),
    doc.time ? lanesCard('Predicted', page, scaleFor(page, measured)) : null,
    measured ? lanesCard('Measured', measured, scaleFor(measured, page)) : null,
    busiest(page, measured));
}

const lane = {height: 26, left: 110};

function lanesCard(title, page, longest) {
  const width = Math.max(720, document.getElementById('view').clientWidth - 80) * time.zoom, scale = (width - lane.left - 10) / (longest * 1e9 || 1);
  const height = page.lanes.length * (lane.height + 6) + 24;
  const busy = page.lanes.map(() => 0);
  const bars = page.bars.map(b => { if (b[1] !== waitThing && b[1] !== barrierThing) busy[b[0]] += b[3]; return timeBar(page, b, scale); });
  return h('section', {class: 'card'}, h('h2', null, title, h('span', {class: 'figure'}, secondsText(page.seconds) + (page.cut ? '; only the first part is drawn' : '') + (page.note ? '; ' + page.note : ''))),
    h('div', {class: 'scroll'}, s('svg', {class: 'lanes', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': title + ' times'}, timeAxis(longest, scale, height),
      page.lanes.map((name, i) => s('g', {class: 'lane'}, s('text', {x: 0, y: i * (lane.height + 6) + 13}, name.length > 16 ? name.slice(0, 15) + '…' : name), s('text', {class: 'small', x: 0, y: i * (lane.height + 6) + 25}, `${(100 * busy[i] / (page.seconds * 1e9 || 1)).toFixed(0)} % busy`))), bars)));
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
    return pick(n.id, {class: 'run ' + backendClass(n.backend)}, s('title', null, `${n.id} ${n.op}${when}`), rect(), width > 6.2 * label.length + 6 ? s('text', {x: x + 4, y: y + 17}, label) : null);
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
  const heads = ['what', 'backend', '>times', '>predicted', 'share'], share = r => bar(r.predicted, page.seconds * 1e9, r.thing >= 0 ? backendClass(doc.nodes[r.thing].backend) : '');
  if (measured) heads.push('>measured, mean of lanes', '>of predicted');
  return h('section', {class: 'card'}, h('h2', null, 'What takes longest'), table(heads, list.map(r => [h('span', null, name(r.thing)), r.thing >= 0 ? badge(doc.nodes[r.thing].backend) : '', countText(r.runs), secondsText(r.predicted / 1e9), share(r),
    ...(measured ? [secondsText(r.measured / 1e9), r.predicted && r.measured ? (r.measured / r.predicted).toFixed(2) + '×' : ''] : [])])));
}
