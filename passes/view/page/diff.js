// diff.js: what differs between two plans, on the page of a difference.

function diffView() {
  const d = doc.diff, sides = ['A', 'B'];
  return h('div', {class: 'page wide'}, d.sides.map((side, i) => h('section', {class: 'card'}, h('h2', null, sides[i], h('span', {class: 'name'}, side.name)),
    h('p', null, `After pass ${side.after}, rules ${side.rules}, backends `, side.targets.map(badge), side.sizes ? '; figures are for ' + side.sizes.join(', ') : ''),
    side.options ? h('p', {class: 'dim'}, 'Options: ', side.options.map(o => h('code', null, '--' + o))) : null, (side.notes || []).map(n => h('p', {class: 'note'}, n)))),
    figuresCards(d.figures || []), changesCard(d));
}

function figuresCards(figures) {
  const where = [...new Set(figures.map(f => f.where))];
  const differs = f => Math.abs(f.a - f.b) > 1e-9 * Math.max(Math.abs(f.a), Math.abs(f.b));
  return where.map(w => {
    const list = figures.filter(f => f.where === w), changed = list.filter(differs);
    return h('section', {class: 'card'}, h('h2', null, w, h('span', {class: 'figure'}, changed.length ? '' : 'nothing differs')),
      changed.length ? table(['figure', '>A', '', '>B', '', '>change'], changed.map(f => { const most = Math.max(f.a, f.b); return [f.what, figureText(f, f.a), bar(f.a, most), figureText(f, f.b), bar(f.b, most), f.a && f.b ? changeText(f.a, f.b) : '']; })) : null,
      changed.length && changed.length < list.length ? h('p', {class: 'dim'}, 'Equal: ' + list.filter(f => !differs(f)).map(f => `${f.what} ${figureText(f, f.a)}`).join(', ')) : null);
  });
}

function figureText(f, x) { return f.unit === 'bytes' ? bytesText(x) : f.unit === 'seconds' ? secondsText(x) || '–' : countText(x); }
function changeText(a, b) { return b / a >= 10 ? (b / a).toFixed(1) + ' times' : (100 * Math.abs(b / a - 1)).toFixed(1) + (b < a ? ' % less' : ' % more'); }

function changesCard(d) {
  const changes = d.changes || [], only = d.only || [];
  if (!changes.length && !only.length) return h('section', {class: 'card'}, h('h2', null, 'Decisions'), h('p', null, 'No decision differs.'));
  const value = (what, text) => what === 'backend' ? badge(text) || 'none' : text || 'none';
  return [h('section', {class: 'card'}, h('h2', null, 'Decisions', h('span', {class: 'figure'}, 'of nodes, weights and states that both plans have; * is any number')),
    table(['of', 'what', '>count', 'decision', 'A', 'B', 'because, in B'], changes.map(c => [c.where, c.id ? link(c.id, c.thing) : c.thing, countText(c.count), c.what, value(c.what, c.a), value(c.what, c.b), h('span', {class: 'dim'}, c.because || '')]))),
  only.length ? h('section', {class: 'card'}, h('h2', null, 'Only in one plan'), table(['of', 'what', '>count', 'in'], only.map(o => [o.where, o.thing, countText(o.count), ['A', 'B'][o.side]]))) : null];
}
