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
    (doc.notes || []).map(n => h('p', {class: 'note'}, n)),
    s.rounded ? h('p', {class: 'note'}, `${plural(s.rounded.weights, 'weight is', 'weights are')} rounded from ${s.rounded.from} to ${s.rounded.to} (${bytesText(s.rounded.bytes)}).`) : null,
    s.entries.map(entryCard),
    s.arenas ? arenasCard(s.arenas) : null,
    s.dearest ? decisionsCard(s.dearest) : null);
}

function entryCard(e) {
  const total = e.seconds || 0;
  const backends = (e.backends || []).map(b => [badge(b.target), countText(b.nodes), flopsText(b.flops), bytesText(b.bytes), secondsText(b.seconds), bar(b.seconds || 0, total, backendClass(b.target))]);
  if (e.barriers) backends.push(['barriers', countText(e.barriers), '', '', secondsText(e.barrier_seconds), bar(e.barrier_seconds || 0, total)]);
  return h('section', {class: 'card'},
    h('h2', null, '@' + e.func, h('span', {class: 'figure'}, total ? secondsText(total) + ' if everything ran one after the other' : '')),
    e.assigned ? h('p', {class: 'dim'}, 'Predicted by assign: ' + e.assigned.join(', ')) : null,
    table(['backend', '>runs', '>work', '>bytes moved', '>time', 'share'], backends),
    e.copies ? copiesLine(e.copies) : null,
    e.splits ? splitsTable(e) : null);
}

function copiesLine(c) {
  if (!c.count) return h('p', null, 'Nothing is copied between memory spaces.');
  const over = c.bytes > c.bound_bytes;
  return [h('p', {class: over ? 'warn' : ''}, `${plural(c.count, 'copy', 'copies')} a call move ${bytesText(c.bytes)}${c.seconds ? ', ' + secondsText(c.seconds) : ''}; each value once per space would be ${bytesText(c.bound_bytes)}.`),
    c.apart ? h('p', {class: 'warn'}, `${plural(c.apart, 'copy is', 'copies are')} made again, as a limit leaves no room to keep the first.`) : null,
    (c.needless || []).map(n => h('p', {class: 'warn'}, explained(`${n.node} copies ${n.value} needlessly: ${n.because}`, n.func)))];
}

// manySplits is how many splits a table shows at first.
const manySplits = 12;

function splitsTable(e) {
  const rows = e.splits.map(s => [String(s.number), badge(s.backend), h('span', null, explained(s.first, s.func), s.func === e.func ? '' : ' in @' + s.func), countText(s.runs),
    s.inputs && s.inputs.length ? plural(s.inputs.length, 'value', 'values') + ', ' + bytesText(s.input_bytes) : '',
    h('span', {class: 'dim'}, (s.causes || []).map(c => c.text + ' (' + c.rule + ')').join('; '))]);
  const heads = ['>split', 'backend', 'first node', '>runs', 'copied for it', 'because'];
  return foldedTable('splits', heads, rows, manySplits);
}

// foldedTable shows the first rows of a table, and all of them on request.
function foldedTable(name, heads, rows, most) {
  if (rows.length <= most) return table(heads, rows);
  const box = h('div', null, table(heads, rows.slice(0, most)));
  box.append(h('button', {type: 'button', onclick: () => box.replaceChildren(table(heads, rows))}, `all ${rows.length} ${name}`));
  return box;
}

function arenasCard(arenas) {
  const largest = Math.max(...arenas.map(a => a.bytes));
  return h('section', {class: 'card'}, h('h2', null, 'Memory', h('span', {class: 'figure'}, bytesText(arenas.reduce((sum, a) => sum + a.bytes, 0)))),
    table(['space', 'class', '>bytes', '>lower bound', 'size', 'set by what is live at once'],
      arenas.map(a => [a.space, a.class, bytesText(a.bytes), a.bytes === a.bound_bytes ? 'reached' : bytesText(a.bound_bytes), bar(a.bytes, largest), settersOf(a)])));
}

// manySetters is how many setters of a bound a table names.
const manySetters = 6;

function settersOf(a) {
  const list = a.setters || [];
  if (!list.length) return '';
  return h('span', null, 'in @' + a.bound_func + ': ', list.slice(0, manySetters).map((s, i) => [i ? ', ' : '', link(resolve(s.value, a.bound_func), '%' + s.value), ' ' + bytesText(s.bytes)]).flat(),
    list.length > manySetters ? ` and ${list.length - manySetters} more` : '');
}

function decisionsCard(list) {
  return h('section', {class: 'card'}, h('h2', null, 'The most expensive decisions'),
    h('ol', {class: 'decisions'}, list.map(d => h('li', null,
      h('p', null, h('b', null, '@' + d.func + ': '), explained(d.what, d.func), h('span', {class: 'figure'}, `${secondsText(d.seconds)}, ${(100 * d.share).toFixed(0)} % of it`)),
      h('p', {class: 'dim'}, 'because ' + d.because),
      (d.change || []).map(c => h('p', null, explained('alternative: ' + c, d.func)))))));
}
