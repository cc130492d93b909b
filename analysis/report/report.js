/* Draws a report from its data: sections of items, each of a kind that 'builders' knows. Nothing
 * here knows a chart by name; what is shown, and in which unit, stands in the data. */
'use strict';
(function () {
  const data = JSON.parse(document.getElementById('data').textContent);
  const charts = []; /* {instance, box, option()} of everything drawn */

  /* --- colours: Okabe and Ito's, a little lighter on dark ground */

  const palette = {
    light: {
      text: '#1c2430', muted: '#566072', line: '#dde1e8', card: '#ffffff', blue: '#0072b2',
      orange: '#e69f00', green: '#009e73', purple: '#cc79a7', vermillion: '#d55e00',
      sky: '#56b4e9', yellow: '#f0e442', grey: '#9aa1ab',
    },
    dark: {
      text: '#e6e9ee', muted: '#a3adbb', line: '#303946', card: '#1a2029', blue: '#3d9bd9',
      orange: '#e69f00', green: '#1fb58a', purple: '#d98cb5', vermillion: '#ee7623',
      sky: '#8fd0f5', yellow: '#f0e442', grey: '#78818d',
    },
  };
  const roles = {
    prefill: 'orange', decode: 'blue', colocated: 'blue', mixed: 'green', waiting: 'grey',
    migration: 'green', 'kv migration': 'green', buffered: 'yellow', pull: 'sky', 'kv pull': 'sky',
    'all-reduce': 'purple', pipeline: 'vermillion', backpressure: 'vermillion', transition: 'grey',
    best: 'vermillion', front: 'blue', rule: 'green', faint: 'grey',
    0: 'blue', 1: 'vermillion', 2: 'orange', 3: 'green', 4: 'purple', 5: 'sky', 6: 'yellow',
  };
  let theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
  const ink = (name) => palette[theme][name];
  const colourOf = (role) => palette[theme][role] || ink(roles[role.toLowerCase()] || 'blue');

  /* --- numbers */

  const prefixes = {
    s: [[1, 's'], [1e-3, 'ms'], [1e-6, 'µs'], [1e-9, 'ns']],
    B: [[1e15, 'PB'], [1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']],
    'B/s': [[1e12, 'TB/s'], [1e9, 'GB/s'], [1e6, 'MB/s'], [1e3, 'kB/s'], [1, 'B/s']],
    W: [[1e6, 'MW'], [1e3, 'kW'], [1, 'W']],
    J: [[1e6, 'MJ'], [1e3, 'kJ'], [1, 'J']],
  };
  function plain(value) {
    const size = Math.abs(value);
    if (size >= 1e6) return Number(value.toPrecision(4)).toLocaleString('en');
    const text = Number(value.toPrecision(4));
    return size >= 10000 ? text.toLocaleString('en') : String(text);
  }
  function format(value, unit) {
    if (value === null || value === undefined || !isFinite(value)) return '–';
    const list = prefixes[unit];
    if (!list) return plain(value) + (unit ? ' ' + unit : '');
    const size = Math.abs(value);
    const fit = size === 0 ? list.find((p) => p[0] === 1) :
      list.find((p) => size >= p[0] * 0.9999) || list[list.length - 1];
    return plain(value / fit[0]) + ' ' + fit[1];
  }
  /* On an axis a unit that needs no prefix stands in its name. */
  const onAxis = (axis) => (value) =>
    prefixes[axis.unit] || axis.unit === '%' ? format(value, axis.unit) : plain(value);
  const axisName = (axis) =>
    axis.unit && axis.unit !== '%' && !prefixes[axis.unit] && axis.name !== axis.unit
      ? `${axis.name} (${axis.unit})` : axis.name;

  /* --- elements */

  function element(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {}))
      if (value !== undefined && value !== null) made.setAttribute(name, value);
    made.append(...children.filter((child) => child !== null && child !== undefined));
    return made;
  }
  const escaped = (text) => String(text).replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
  const looksNumeric = (text) => /^[-–]?[\d.,]*( [^ ]{1,20})?$/.test(text);

  function tableOf(columns, rows, caption) {
    const words = columns.map((_, i) => i > 0 && rows.some((row) => !looksNumeric(row[i] || '') && row[i].length > 24));
    const kind = (i) => (words[i] ? 'words' : undefined);
    const verdict = (text) => (/\bbetter$/.test(text) ? 'better' : /\bworse$/.test(text) ? 'worse' : undefined);
    return element('table', {},
      caption ? element('caption', {}, caption) : null,
      columns.some((name) => name) ? element('thead', {}, element('tr', {}, ...columns.map((name, i) =>
        element('th', {scope: 'col', class: kind(i)}, name)))) : null,
      element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map((text, i) =>
        i === 0 ? element('th', {scope: 'row'}, text) : element('td', {class: kind(i) || verdict(text)}, text))))));
  }
  const scroller = (label, inner) =>
    element('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, inner);

  /* A folded table, made when it is opened first. */
  function folded(title, label, make) {
    const details = element('details', {}, element('summary', {}, title));
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(scroller(label, make()));
    });
    return details;
  }

  /* --- what all charts share */

  function card(item, plot) {
    const id = `${item.id}-title`;
    return element('section', {class: item.wide ? 'card wide' : 'card', id: item.id, 'aria-labelledby': id},
      element('h3', {id}, item.title),
      item.summary ? element('p', {class: 'summary'}, item.summary) : null,
      ...plot,
      item.note ? element('p', {class: 'note'}, item.note) : null);
  }
  function draw(box, option) {
    const chart = {box, option, hidden: new Set(), view: null};
    charts.push(chart);
    chart.start = () => {
      chart.instance = echarts.init(box, null, {renderer: 'canvas'});
      chart.refresh();
    };
    chart.refresh = () => {
      const made = option(chart);
      const selected = {};
      for (const name of chart.hidden) selected[name] = false;
      made.legend = {show: false, selected};
      made.animation = false;
      made.textStyle = {fontFamily: getComputedStyle(document.body).fontFamily, color: ink('text')};
      chart.instance.setOption(made, true);
    };
    return chart;
  }
  /* Buttons that show and hide series: what ECharts' own legend does, for the keyboard too. */
  function legend(chart, entries) {
    const bar = element('div', {class: 'legend', role: 'group', 'aria-label': 'Series shown'});
    if (entries.length < 2) return null;
    for (const entry of entries) {
      const swatch = element('i', {class: entry.shape || '', 'aria-hidden': 'true'});
      const button = element('button', {type: 'button', 'aria-pressed': 'true'}, swatch, entry.name);
      button.addEventListener('click', () => {
        const shown = button.getAttribute('aria-pressed') === 'true';
        button.setAttribute('aria-pressed', String(!shown));
        chart.hidden[shown ? 'add' : 'delete'](entry.name);
        chart.instance.dispatchAction({type: shown ? 'legendUnSelect' : 'legendSelect', name: entry.name});
      });
      (chart.paint = chart.paint || []).push(() => {
        swatch.style.background = swatch.style.borderColor = colourOf(entry.colour);
      });
      bar.append(button);
    }
    return bar;
  }
  const tooltipStyle = () => ({
    confine: true, backgroundColor: ink('card'), borderColor: ink('line'),
    textStyle: {color: ink('text'), fontSize: 12},
  });
  const axisStyle = () => ({
    axisLine: {lineStyle: {color: ink('line')}},
    axisTick: {lineStyle: {color: ink('line')}},
    axisLabel: {color: ink('muted'), fontSize: 11, hideOverlap: true},
    splitLine: {lineStyle: {color: ink('line'), opacity: 0.6}},
    nameTextStyle: {color: ink('muted'), fontSize: 11},
  });
  const narrow = () => innerWidth < 760;

  /* --- charts over two axes */

  function extent(item) {
    let low = Infinity, high = -Infinity;
    for (const series of item.series)
      for (const [x] of series.points)
        if (x !== null) { low = Math.min(low, x); high = Math.max(high, x); }
    for (const mark of item.marks)
      if (mark.axis === 'x') { low = Math.min(low, mark.value); high = Math.max(high, mark.value); }
    if (item.x.log) return {min: 0.8 * low, max: 1.25 * high};
    const pad = high > low ? 0.03 * (high - low) : Math.abs(high) * 0.1 || 1;
    const lines = item.series.every((series) => ['line', 'dashed', 'area'].includes(series.style));
    return {min: item.x.zero ? 0 : Math.max(low - pad, low >= 0 ? 0 : -Infinity), max: lines && high > low ? high : high + pad};
  }
  function xAxis(item) {
    const style = axisStyle();
    if (item.categories)
      return Object.assign(style, {type: 'category', data: item.categories,
        axisLabel: Object.assign(style.axisLabel, {interval: 0, hideOverlap: false, width: 90, overflow: 'break'})});
    return Object.assign(style, extent(item), {
      type: item.x.log ? 'log' : 'value', name: axisName(item.x), nameLocation: 'middle', nameGap: 26, splitLine: {show: false},
      splitNumber: narrow() ? 4 : 6,
      axisLabel: Object.assign(style.axisLabel,
        {formatter: onAxis(item.x), showMinLabel: Boolean(item.x.zero), showMaxLabel: false}),
    });
  }
  function yAxis(axis, right, item) {
    const style = axisStyle();
    const marks = right ? [] : item.marks.filter((mark) => mark.axis === 'y').map((mark) => mark.value);
    const most = Math.max(...marks, ...item.series.filter((series) => !series.right === !right)
      .flatMap((series) => series.points.map((point) => point[1] || 0)));
    return Object.assign(style, {
      type: 'value', name: axisName(axis), nameLocation: 'end', nameGap: marksOnX(item).length ? 24 : 10, scale: !axis.zero,
      axisLine: Object.assign(style.axisLine, {onZero: false}),
      nameTextStyle: Object.assign(style.nameTextStyle, {align: right ? 'right' : 'left', padding: right ? [0, -20, 0, 0] : [0, 0, 0, -20]}),
      position: right ? 'right' : 'left', splitNumber: 4,
      splitLine: right ? {show: false} : style.splitLine,
      min: axis.zero ? 0 : undefined,
      ...(axis.unit === '%' && most > 40 ? {interval: 25} : {}),
      max: axis.unit === '%' && most > 40 ? 100
        : marks.length ? (bounds) => (Math.max(...marks) > bounds.max ? Math.max(...marks) * 1.05 : undefined) : undefined,
      axisLabel: Object.assign(style.axisLabel, {formatter: onAxis(axis)}),
    });
  }
  function histogram(series, colour) {
    const points = series.points;
    const half = points.length > 1 ? (points[1][0] - points[0][0]) / 2 : Math.max(points[0][0] * 0.02, 1e-9);
    return {
      type: 'custom', data: points, clip: true,
      renderItem(_, api) {
        const [left, top] = api.coord([api.value(0) - half, api.value(1)]);
        const [right, bottom] = api.coord([api.value(0) + half, 0]);
        return {type: 'rect', shape: {x: left + 0.5, y: top, width: Math.max(right - left - 1, 1), height: bottom - top}, style: {fill: colour}};
      },
    };
  }
  const styles = {
    line: (_, colour) => ({type: 'line', showSymbol: false, lineStyle: {width: 1.6, color: colour}}),
    dashed: (_, colour) => ({type: 'line', showSymbol: false, lineStyle: {width: 1.6, type: 'dashed', color: colour}}),
    area: (_, colour) => ({type: 'line', showSymbol: false, stack: 'all', lineStyle: {width: 0.8, color: colour}, areaStyle: {color: colour, opacity: 0.75}}),
    dots: () => ({type: 'scatter', symbolSize: 9}),
    faint: () => ({type: 'scatter', symbolSize: 7, itemStyle: {opacity: 0.55}}),
    linedots: (_, colour) => ({type: 'line', symbol: 'circle', symbolSize: 9, lineStyle: {width: 2, color: colour}}),
    star: () => ({type: 'scatter', symbol: 'diamond', symbolSize: 18, z: 5, itemStyle: {borderWidth: 2, borderColor: ink('card')}}),
    bars: (series, colour, item) => item.categories ? {
      type: 'bar', barGap: '-100%', barMaxWidth: 56,
      data: item.categories.map((_, place) => (series.points.find(([x]) => x === place) || [0, null])[1]),
    } : histogram(series, colour),
  };
  /* Labels of lines across x stand above the picture, away from its edges and from each other. */
  const marksOnX = (item) => item.marks.filter((mark) => mark.axis === 'x').sort((a, b) => a.value - b.value);
  function besideMark(item, mark) {
    const marks = marksOnX(item);
    const {min, max} = extent(item);
    if (marks.length > 1) return mark === marks[0] ? 'right' : 'left';
    const share = (mark.value - min) / (max - min);
    return share > 0.7 ? 'right' : share < 0.3 ? 'left' : 'center';
  }
  function markSeries(item) {
    const style = {color: ink('vermillion'), type: 'dashed', width: 1.5};
    return {
      type: 'line', data: [], silent: true, name: '\u0000marks',
      markLine: {
        symbol: 'none', silent: true, lineStyle: style,
        data: item.marks.map((mark) => ({
          [mark.axis === 'x' ? 'xAxis' : 'yAxis']: mark.value,
          label: {formatter: mark.label, color: ink('text'), fontSize: 11, backgroundColor: ink('card'), padding: [1, 3],
            ...(mark.axis === 'x' ? {position: 'end', distance: 2, align: besideMark(item, mark)} : {position: 'insideEndBottom'})},
        })),
      },
    };
  }
  function axisTooltip(item) {
    return (list) => {
      const shown = list.filter((one) => one.seriesName !== '\u0000marks');
      if (!shown.length) return '';
      const x = item.categories ? shown[0].name : format(shown[0].value[0], item.x.unit);
      const lines = shown.map((one) => {
        const series = item.series[one.seriesIndex];
        const value = Array.isArray(one.value) ? one.value[1] : one.value;
        const label = series.labels && series.labels[one.dataIndex];
        return `${one.marker || ''}${escaped(one.seriesName)}: <b>${escaped(format(value, (series.right ? item.right : item.y).unit))}</b>` +
          (label ? `<br>${escaped(label).replace(/\n/g, '<br>')}` : '');
      });
      return `${escaped(item.categories ? x : `${item.x.name} ${x}`)}<br>${lines.join('<br>')}`;
    };
  }
  function pointTooltip(item) {
    return (one) => {
      const series = item.series[one.seriesIndex];
      const label = series.labels && series.labels[item.categories ? 0 : one.dataIndex];
      const y = (series.right ? item.right : item.y);
      const value = Array.isArray(one.value) ? one.value : [null, one.value];
      const lines = label ? [escaped(label).replace(/\n/g, '<br>')] : [];
      const tell = (axis, number) => {
        const text = format(number, axis.unit);
        if (!label || !label.includes(`${axis.name} ${text}`)) lines.push(`${escaped(axis.name)}: <b>${escaped(text)}</b>`);
      };
      tell(y, value[1]);
      if (value[0] !== null && series.style !== 'bars') tell(item.x, value[0]);
      return `<b>${escaped(one.seriesName)}</b><br>${lines.join('<br>')}`;
    };
  }
  const byPoint = (item) => item.series.some((series) => ['dots', 'faint', 'star', 'bars', 'linedots'].includes(series.style));

  function chartOption(item) {
    const series = item.series.map((one) => {
      const colour = colourOf(one.colour);
      const made = styles[one.style](one, colour, item);
      return Object.assign({name: one.name, data: one.points, yAxisIndex: one.right ? 1 : 0}, made,
        {itemStyle: Object.assign({color: colour}, made.itemStyle)});
    });
    if (item.marks.length) series.push(markSeries(item));
    return {
      grid: {left: 8, right: item.right ? 8 : 18, top: marksOnX(item).length ? 46 : 34, bottom: item.categories ? 8 : 26, containLabel: true},
      tooltip: Object.assign(tooltipStyle(), byPoint(item)
        ? {trigger: 'item', formatter: pointTooltip(item)}
        : {trigger: 'axis', formatter: axisTooltip(item), axisPointer: {lineStyle: {color: ink('muted')}}}),
      xAxis: xAxis(item),
      yAxis: item.right ? [yAxis(item.y, false, item), yAxis(item.right, true, item)] : yAxis(item.y, false, item),
      series,
    };
  }
  /* The chart's figures as a table: series beside each other where they share their x. */
  const ROWS = 100;
  function chartTable(item) {
    const first = item.series[0].points;
    const nameOf = (x) => (item.categories ? item.categories[x] : format(x, item.x.unit));
    const unitOf = (series) => (series.right ? item.right : item.y).unit;
    const shared = !item.categories && item.series.every((series) => series.points.length === first.length && !series.labels &&
      series.points.every((point, i) => point[0] === first[i][0]));
    const rows = shared
      ? first.map(([x], i) => [nameOf(x), ...item.series.map((series) => format(series.points[i][1], unitOf(series)))])
      : item.series.flatMap((series) => series.points.map(([x, y], i) => [series.name, nameOf(x), format(y, unitOf(series)),
        ...(series.labels ? [series.labels[i].replace(/\n/g, '; ')] : [''])]));
    const stride = shared ? Math.ceil(rows.length / ROWS) : 1;
    const labelled = item.series.some((series) => series.labels);
    const columns = shared ? [item.x.name, ...item.series.map((series) => series.name)]
      : ['series', item.x.name, item.y.name, ...(labelled ? ['about it'] : [])];
    const kept = rows.filter((_, i) => i % stride === 0 || i === rows.length - 1).map((row) => row.slice(0, columns.length));
    return tableOf(columns, kept, stride > 1 ? `every ${stride}th of ${rows.length} points` : `${kept.length} rows`);
  }
  function buildChart(item) {
    const box = element('div', {class: 'plot', role: 'img', 'aria-label': `${item.title}. ${item.summary}`});
    const chart = draw(box, () => chartOption(item));
    const shapes = {dots: 'round', faint: 'round', star: 'round', linedots: 'round', dashed: 'dashed'};
    const bar = item.categories ? null : legend(chart, item.series.map((series) =>
      ({name: series.name, colour: series.colour, shape: shapes[series.style]})));
    return card(item, [bar, box, folded('The numbers', `Numbers of ${item.title}`, () => chartTable(item))]);
  }

  /* --- timelines */

  const FIELDS = 7; /* lane, start, duration, kind, tail, size, tokens */
  function timelineSeries(item) {
    const kinds = item.kinds.map((name) => ({name, colour: name, data: [], least: 0.3}));
    const tails = {name: 'all-reduce within steps', colour: 'all-reduce', data: [], least: 0};
    for (let i = 0; i < item.slices.length; i += FIELDS) {
      const [lane, start, duration, kind, tail, size, tokens] = item.slices.slice(i, i + FIELDS);
      const from = start * item.tick_s, to = (start + duration) * item.tick_s;
      kinds[kind].data.push([lane, from, to, size, tokens]);
      if (tail > 0) tails.data.push([lane, to - tail * item.tick_s, to, size, tokens]);
    }
    const busy = ['prefill', 'decode', 'colocated'].map((role) => ({name: `${role}, busy share`, colour: role, role, data: [], shade: true, least: 0}));
    for (let i = 0; i < item.blocks.length; i += 4) {
      const [lane, start, duration, percent] = item.blocks.slice(i, i + 4);
      const of = busy.find((one) => item.lanes[lane].includes(one.role));
      if (of) of.data.push([lane, start * item.tick_s, (start + duration) * item.tick_s, percent, 0]);
    }
    return [...kinds, tails, ...busy].filter((one) => one.data.length);
  }
  function renderSlice(series, colour) {
    return (parameters, api) => {
      const [left, middle] = api.coord([api.value(1), api.value(0)]);
      const [right] = api.coord([api.value(2), api.value(0)]);
      const height = Math.max(api.size([0, 1])[1] * 0.82, 1);
      const shape = echarts.graphic.clipRectByRect(
        {x: left, y: middle - height / 2, width: Math.max(right - left, series.least), height}, parameters.coordSys);
      return shape && {type: 'rect', shape, style: {
        fill: colour, opacity: series.shade ? 0.15 + 0.6 * api.value(3) / 100 : 1,
        stroke: !series.shade && right - left > 4 && height > 5 ? ink('card') : null, lineWidth: 0.6}};
    };
  }
  function sliceTooltip(item, all) {
    return (one) => {
      const [lane, from, to, size, tokens] = one.value;
      const series = all[one.seriesIndex];
      const head = `<b>${escaped(item.steps ? item.lanes[lane] : `request ${item.lanes[lane]}`)}</b><br>${escaped(series.name)}`;
      const when = `from ${format(from, 's')}, for <b>${format(to - from, 's')}</b>`;
      const what = series.shade ? `busy ${size} %` : !item.steps ? `${size} prompt tokens, ${tokens} generated`
        : tokens ? `${size} request${size === 1 ? '' : 's'}, ${tokens} tokens` : size ? format(size, 'B') : '';
      return [head, when, what].filter((line) => line).join('<br>');
    };
  }
  function timelineOption(item, all, chart, touch) {
    const style = axisStyle();
    const many = item.lanes.length > 40;
    const longest = Math.max(...item.lanes.map((name) => name.length));
    const labels = Math.min(longest * 6 + 8, narrow() ? 88 : 170);
    const zoom = Object.assign({xAxisIndex: 0, filterMode: 'weakFilter'}, chart.view);
    const slider = {type: 'slider', borderColor: ink('line'), textStyle: {color: ink('muted'), fontSize: 10},
      fillerColor: 'rgba(86,180,233,.2)', showDataShadow: false, brushSelect: false};
    return {
      grid: {left: labels + 8, right: many && item.steps ? 34 : 16, top: item.steps ? 8 : 24, bottom: 54},
      tooltip: Object.assign(tooltipStyle(), {trigger: 'item', formatter: sliceTooltip(item, all)}),
      xAxis: Object.assign(style, {type: 'value', min: 0, max: item.end_s, splitNumber: narrow() ? 3 : 8,
        axisLabel: Object.assign({}, style.axisLabel, {formatter: (value) => format(value, 's'), showMaxLabel: false})}),
      yAxis: Object.assign(axisStyle(), {type: 'category', data: item.lanes, inverse: true, splitLine: {show: false}, axisTick: {show: false},
        name: item.steps ? undefined : 'request', nameLocation: 'start',
        axisLabel: {color: ink('muted'), fontSize: 10, width: labels, overflow: 'truncate'}}),
      dataZoom: [
        Object.assign({type: 'inside', zoomOnMouseWheel: 'ctrl', moveOnMouseMove: !touch, moveOnMouseWheel: false, zoomLock: touch}, zoom),
        Object.assign({}, slider, {height: 16, bottom: 8, labelFormatter: (value) => format(value, 's')}, zoom),
        ...(many && item.steps ? [Object.assign({}, slider, {yAxisIndex: 0, width: 14, right: 4, filterMode: 'weakFilter', showDetail: false})] : []),
      ],
      series: all.map((series) => ({
        type: 'custom', name: series.name, data: series.data, clip: true, progressive: 0,
        dimensions: ['lane', 'from', 'to', 'size', 'tokens'], encode: {x: [1, 2], y: 0},
        itemStyle: {color: colourOf(series.colour)},
        renderItem: renderSlice(series, colourOf(series.colour)),
      })),
    };
  }
  /* A first view in which single slices can be told apart, about a hundred a lane. */
  function firstView(item) {
    const n = item.slices.length / FIELDS;
    if (!item.steps || n === 0) return {start: 0, end: 100};
    const seconds = item.detail_s * Math.min(1, 100 * item.lanes.length / n);
    return {start: 0, end: Math.min(100, Math.max(100 * seconds / item.end_s, 0.05))};
  }
  function zoomControls(item, chart, wrapper) {
    const shown = element('output', {'aria-live': 'polite'});
    const show = () => {
      const {start, end} = chart.view;
      shown.textContent = `${format(start * item.end_s / 100, 's')} to ${format(end * item.end_s / 100, 's')}`;
    };
    const go = (start, end) => {
      const width = Math.min(Math.max(end - start, 1e-4), 100);
      const from = Math.min(Math.max(start, 0), 100 - width);
      chart.view = {start: from, end: from + width};
      chart.instance.dispatchAction({type: 'dataZoom', dataZoomIndex: 0, start: from, end: from + width});
      show();
    };
    const scale = (factor) => {
      const {start, end} = chart.view;
      const middle = (start + end) / 2, half = (end - start) / 2 * factor;
      go(middle - half, middle + half);
    };
    const move = (share) => {
      const {start, end} = chart.view;
      go(start + share * (end - start), end + share * (end - start));
    };
    const actions = [
      ['+', 'Zoom in', () => scale(0.5)], ['−', 'Zoom out', () => scale(2)],
      ['←', 'Move back', () => move(-0.4)], ['→', 'Move on', () => move(0.4)], ['All', 'Show the whole run', () => go(0, 100)]];
    const keys = {'+': 0, '=': 0, '-': 1, ArrowLeft: 2, ArrowRight: 3, 0: 4, Home: 4};
    wrapper.addEventListener('keydown', (event) => {
      const action = keys[event.key];
      if (action === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[action][2]();
    });
    chart.onStart = () => {
      chart.instance.on('datazoom', () => {
        const {start, end} = chart.instance.getOption().dataZoom[0];
        chart.view = {start, end};
        show();
      });
      show();
    };
    return element('div', {class: 'zoom', role: 'group', 'aria-label': `Zoom of ${item.title}`},
      ...actions.map(([text, label, act]) => {
        const button = element('button', {type: 'button', class: 'button', 'aria-label': label, title: label}, text);
        button.addEventListener('click', act);
        return button;
      }), shown);
  }
  function timelineTable(item, all) {
    const rows = all.map((series) => {
      const total = series.data.reduce((sum, slice) => sum + slice[2] - slice[1], 0);
      const longest = series.data.reduce((most, slice) => Math.max(most, slice[2] - slice[1]), 0);
      return [series.name, plain(series.data.length), format(total, 's'), format(total / series.data.length, 's'), format(longest, 's')];
    });
    return tableOf(['slices', 'number', 'together', 'mean', 'longest'], rows);
  }
  function buildTimeline(item) {
    item.wide = true;
    const all = timelineSeries(item);
    const height = item.steps ? Math.min(Math.max(item.lanes.length * 20, 120), 640) + 80 : 460;
    const box = element('div', {class: 'plot', style: `height:${height}px`, role: 'img', 'aria-label': `${item.title}. ${item.summary}`});
    const wrapper = element('div', {tabindex: '0', role: 'group', 'aria-label': `${item.title}: plus and minus zoom, arrows move, 0 shows all`}, box);
    const touch = matchMedia('(pointer: coarse)').matches;
    const chart = draw(box, (self) => timelineOption(item, all, self, touch));
    chart.view = firstView(item);
    return card(item, [legend(chart, all.map((series) => ({name: series.name, colour: series.colour}))),
      zoomControls(item, chart, wrapper), wrapper,
      folded('The numbers', `Numbers of ${item.title}`, () => timelineTable(item, all))]);
  }

  /* --- the page */

  const builders = {
    chart: buildChart,
    timeline: buildTimeline,
    table: (item) => {
      const make = () => tableOf(item.columns, item.rows);
      const wide = item.columns.length > 3;
      return element('section', {class: wide ? 'card wide' : 'card'}, item.folded
        ? folded(`${item.title} (${item.rows.length})`, item.title, make)
        : null, ...(item.folded ? [] : [element('h3', {}, item.title), scroller(item.title || 'More of it', make())]));
    },
    text: (item) => element('section', {class: 'card wide'}, element('h3', {}, item.title),
      scroller(item.title, element('pre', {}, item.text))),
  };
  /* "306 tokens/s": the unit smaller. */
  function valueParts(value) {
    const place = value.indexOf(' ');
    return place < 0 ? [value] : [value.slice(0, place), '\u00a0', element('small', {}, value.slice(place + 1))];
  }
  function buildSection(section) {
    const tiles = section.items.filter((item) => item.kind === 'tile');
    const others = section.items.filter((item) => item.kind !== 'tile');
    const narrowCharts = others.filter((item) => item.kind === 'chart' && !item.wide);
    if (narrowCharts.length % 2 === 1) narrowCharts[narrowCharts.length - 1].wide = true;
    return element('section', {id: section.id, 'aria-labelledby': `${section.id}-heading`},
      element('h2', {id: `${section.id}-heading`}, section.title),
      section.note ? element('p', {class: 'muted'}, section.note) : null,
      tiles.length ? element('dl', {class: 'tiles'}, ...tiles.map((tile) =>
        element('div', {class: `tile ${tile.state || ''}`}, element('dt', {}, tile.label),
          element('dd', {class: 'value'}, ...valueParts(tile.value)), tile.note ? element('dd', {class: 'note'}, tile.note) : null))) : null,
      others.length ? element('div', {class: 'grid'}, ...others.map((item) => builders[item.kind](item))) : null);
  }
  function setTheme(next) {
    theme = next;
    document.documentElement.dataset.theme = theme;
    const button = document.getElementById('theme');
    button.textContent = theme === 'dark' ? 'Light' : 'Dark';
    button.setAttribute('aria-pressed', String(theme === 'dark'));
    button.setAttribute('aria-label', 'Dark colours');
    for (const chart of charts) {
      (chart.paint || []).forEach((paint) => paint());
      if (chart.instance) chart.refresh();
    }
  }
  function build() {
    document.getElementById('title').textContent = data.title;
    document.getElementById('subtitle').textContent = data.subtitle;
    document.getElementById('footer').textContent =
      `infergrid ${data.version}. Charts by Apache ECharts, Apache License 2.0.`;
    document.getElementById('nav').append(element('ul', {}, ...data.sections.map((section) =>
      element('li', {}, element('a', {href: `#${section.id}`}, section.title)))));
    document.getElementById('main').append(...data.sections.map(buildSection));
    document.documentElement.dataset.theme = theme;
    for (const chart of charts) {
      chart.start();
      if (chart.onStart) chart.onStart();
    }
    setTheme(theme);
  }
  build();
  document.getElementById('theme').addEventListener('click', () => setTheme(theme === 'dark' ? 'light' : 'dark'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', (event) => setTheme(event.matches ? 'dark' : 'light'));
  new ResizeObserver(() => charts.forEach((chart) => chart.instance.resize())).observe(document.getElementById('main'));
  let before = theme;
  addEventListener('beforeprint', () => { before = theme; setTheme('light'); charts.forEach((chart) => chart.instance.resize()); });
  addEventListener('afterprint', () => setTheme(before));
  globalThis.infergridReport = {charts}; /* for tests */
})();
