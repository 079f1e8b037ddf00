// summary.js: what runs where, time, memory, bytes moved.

function table(heads, rows, cls) {
  return h('div', {class: 'scroll'}, h('table', {class: cls || ''},
    h('thead', null, h('tr', null, heads.map(t => h('th', {class: t.startsWith('>') ? 'num' : ''}, t.replace('>', ''))))),
    h('tbody', null, rows.map(r => h('tr', null, r.map((c, i) => h('td', {class: heads[i].startsWith('>') ? 'num' : ''}, c)))))));
}

function bar(part, whole, cls) {
  const share = whole > 0 ? Math.max(0, Math.min(1, part / whole)) : 0;
  return h('span', {class: 'bar', title: (100 * share).toFixed(1) + ' %'}, h('span', {class: cls || '', css: {width: 100 * share + '%'}}));
}

function summaryView() {
  const s = doc.summary;
  return h('div', {class: 'page'},
    h('p', {class: 'lead'}, 'After pass ', h('b', null, doc.after), ', rules ', h('b', null, doc.rules), ', backends ', doc.targets.map(badge),
      doc.sizes ? '; figures are for ' + doc.sizes.join(', ') : ''),
    doc.options ? h('p', {class: 'dim'}, 'Options: ', doc.options.map(o => h('code', null, '--' + o))) : null,
    (s.head || []).map(t => h('p', {class: 'head'}, t)),
    (doc.notes || []).map(n => h('p', {class: 'note'}, n)),
    s.rings ? h('p', {class: 'dim'}, `${plural(s.rings.states, 'state', 'states')} of sliding windows of ${s.rings.window} keep the last ${countText(s.rings.rows)} of ${countText(s.rings.positions)} positions: ${bytesText(s.rings.bytes)}, ${bytesText(s.rings.saved_bytes)} less than all of them.`) : null,
    s.rounded ? h('p', {class: 'note'}, `${plural(s.rounded.weights, 'weight is', 'weights are')} rounded from ${s.rounded.from} to ${s.rounded.to} (${bytesText(s.rounded.bytes)}).`) : null,
    warnings(s).map(w => h('p', {class: 'warn'}, w)),
    s.entries.map(entryCard),
    s.arenas ? arenasCard(s) : null,
    s.expensive ? decisionsCard(s.expensive) : null);
}

// warnings are what a reader should look at first: shares of a call, or of memory, that are large.
function warnings(s) {
  const list = [], percent = x => (100 * x).toFixed(0) + ' %';
  for (const e of s.entries) {
    const c = e.copies;
    if (c && c.seconds > 0.1 * e.seconds) {
      const most = [...(e.splits || [])].sort((a, b) => b.input_bytes - a.input_bytes)[0];
      list.push([`@${e.func}: copies take ${percent(c.seconds / e.seconds)} of a call. `, ...(most && most.input_bytes ? [`Split ${most.number} on ${most.backend}, from `, ...explained(most.first, most.func), `, costs most: ${plural(most.inputs.length, 'copy', 'copies')} of ${bytesText(most.input_bytes)} a call.`] : [])]);
    }
    if (e.barrier_seconds > 0.25 * e.seconds) list.push(`@${e.func}: threads meet ${plural(e.barriers, 'time', 'times')} a call, which takes ${percent(e.barrier_seconds / e.seconds)} of it.`);
  }
  for (const a of s.arenas || []) if (a.bytes > 1.05 * a.bound_bytes) list.push(`${a.space} ${a.class}: ${percent(a.bytes / a.bound_bytes - 1)} above the lower bound.`);
  for (const l of s.limits || []) if (l.bytes > 0.9 * l.limit) list.push(`${l.space}: the plan takes ${percent(l.bytes / l.limit)} of ${l.name}.`);
  return list;
}

function entryCard(e) {
  const total = e.seconds || 0;
  const backends = (e.backends || []).map(b => [badge(b.target), countText(b.nodes), flopsText(b.flops), bytesText(b.bytes), secondsText(b.seconds), bar(b.seconds || 0, total, backendClass(b.target))]);
  if (e.copies && e.copies.count) backends.push([h('span', {class: 'badge copied'}, 'copies'), countText(e.copies.count), '', bytesText(e.copies.bytes), secondsText(e.copies.seconds), bar(e.copies.seconds || 0, total, 'copied')]);
  if (e.barriers) backends.push(['barriers', countText(e.barriers), '', '', secondsText(e.barrier_seconds), bar(e.barrier_seconds || 0, total)]);
  return h('section', {class: 'card'},
    h('h2', null, '@' + e.func, h('span', {class: 'figure'}, [plural(e.nodes, 'node runs', 'nodes run'), e.call_seconds ? secondsText(e.call_seconds) + ' a call' : '', total ? secondsText(total) + ' if everything ran one after the other' : ''].filter(Boolean).join(', '))),
    table(['backend', '>runs', '>work', '>bytes moved', '>time', 'share'], backends),
    e.copies ? copiesLine(e) : null,
    e.splits ? splitsTable(e) : null);
}

// copiesOf returns the copies of an entry point, those that move most bytes first.
function copiesOf(func) {
  return (doc.copies || []).filter(c => c.func === func).sort((a, b) => b.bytes * b.times - a.bytes * a.times);
}

// manyCopies is how many copies a table shows at first.
const manyCopies = 6;

function copiesLine(e) {
  const c = e.copies;
  if (!c.count) return h('p', null, 'Nothing is copied between memory spaces.');
  const over = c.bytes > c.bound_bytes;
  return [h('p', {class: over ? 'warn' : ''}, `${plural(c.count, 'copy', 'copies')} a call move ${bytesText(c.bytes)}${c.seconds ? ', ' + secondsText(c.seconds) : ''}; each value once per space would be ${bytesText(c.bound_bytes)}.`),
    c.apart ? h('p', {class: 'warn'}, `${plural(c.apart, 'copy is', 'copies are')} made again, as a limit leaves no room to keep the first.`) : null,
    c.count ? h('h3', null, 'Copies') : null, foldedTable('copies', ['copy', 'of', 'from', 'to', '>bytes', '>times a call'], copiesOf(e.func).map(c => [link(doc.nodes[c.copy].id), h('span', null, link(doc.nodes[c.of].id), doc.nodes[c.of].func ? '' : ' ' + doc.nodes[c.of].kind + ', in every call'), c.from, c.to, bytesText(c.bytes), countText(c.times)]), manyCopies),
    (c.needless || []).map(n => h('p', {class: 'warn'}, explained(`${n.node} copies ${n.value} needlessly: ${n.because}`, n.func)))];
}

// manySplits is how many splits a table shows at first.
const manySplits = 12;

function splitsTable(e) {
  const rows = e.splits.map(s => [String(s.number), badge(s.backend), h('span', null, explained(s.first, s.func), s.func === e.func ? '' : ' in @' + s.func), countText(s.runs),
    s.inputs && s.inputs.length ? h('span', {class: 'nobr'}, plural(s.inputs.length, 'value', 'values') + ', ' + bytesText(s.input_bytes)) : '',
    h('span', {class: 'dim'}, (s.causes || []).map(c => c.text + ' (' + c.rule + ')').join('; '))]);
  const heads = ['>split', 'backend', 'first node', '>runs', 'copied for it', 'because'];
  return [h('h3', null, 'Splits'), foldedTable('splits', heads, rows, manySplits)];
}

// foldedTable shows the first rows of a table, and all of them on request.
function foldedTable(name, heads, rows, most) {
  if (rows.length <= most) return table(heads, rows);
  const box = h('div');
  const fill = all => box.replaceChildren(table(heads, all ? rows : rows.slice(0, most)), h('button', {type: 'button', 'aria-expanded': String(all), onclick: () => { fill(!all); box.lastChild.focus(); }}, all ? `the first ${most} ${name}` : `all ${rows.length} ${name}`));
  fill(false);
  return box;
}

function limitsTable(limits) {
  return table(['space', '>takes', 'of the limit', '>left', 'which is'], limits.map(l => [l.space, bytesText(l.bytes), bar(l.bytes, l.limit), l.bytes > l.limit ? h('span', {class: 'warn'}, bytesText(l.bytes - l.limit) + ' too much') : bytesText(l.limit - l.bytes), l.name]));
}

function arenasCard({arenas, spaces, limits}) {
  const largest = Math.max(...arenas.map(a => a.bytes));
  return h('section', {class: 'card'}, h('h2', null, 'Memory', h('span', {class: 'figure'}, (spaces || []).map(p => `${p.space} ${bytesText(p.bytes)}`).join(', '))),
    table(['space', 'class', '>bytes', '>lower bound', 'size', 'set by what is live at once'],
      arenas.map(a => [a.space, a.class, bytesText(a.bytes), a.bytes === a.bound_bytes ? 'reached' : bytesText(a.bound_bytes), bar(a.bytes, largest), settersOf(a)])), limits ? [h('h3', null, 'Limits'), limitsTable(limits)] : null);
}

// manySetters is how many setters of a bound a table names.
const manySetters = 6;

function settersOf(a) {
  const list = a.setters || [];
  if (!list.length) return '';
  const links = from => from.map(s => [', ', link(resolve(s.id, a.bound_func), '%' + s.id), ` ${s.slots ? s.slots + ' × ' : ''}${bytesText(s.bytes)}`]).flat();
  const more = list.length > manySetters ? h('button', {type: 'button', class: 'more', onclick: () => more.replaceWith(...links(list.slice(manySetters)))}, `and ${list.length - manySetters} more`) : null;
  return h('span', null, 'in @' + a.bound_func + ': ', links(list.slice(0, manySetters)).slice(1), more ? [' ', more] : []);
}

function decisionsCard(list) {
  return h('section', {class: 'card'}, h('h2', null, 'The most expensive decisions'),
    h('ol', {class: 'decisions'}, list.map(d => h('li', null,
      h('p', null, h('b', null, '@' + d.func + ': '), explained(d.what, d.func), h('span', {class: 'figure'}, `${secondsText(d.seconds)}, ${(100 * d.share).toFixed(0)} % of it`)),
      h('p', {class: 'dim'}, 'because ' + d.because),
      (d.change || []).map(c => h('p', null, explained('alternative: ' + c, d.func)))))));
}
