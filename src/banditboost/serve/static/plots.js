// The plots of the live page. Each has a caption, a canvas, and the same numbers as a table for whoever does not see it.
"use strict";

const Plots = (() => {
  const PLOTS = [
    { id: "paid", legend: [["booster", "booster"], ["baseline", "baseline"], ["mark", "event"]] },
    { id: "difference", legend: [["booster", "estimate"], ["band", "interval"], ["mark", "event"]] },
    { id: "width", legend: [["booster", "booster"]] },
    { id: "speed", legend: [["booster", "all callers"]] },
  ];
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const made = {}, LONGEST_GAP = 20;

  function element(tag, text, attributes = {}) {
    const one = document.createElement(tag);
    if (text !== undefined) one.textContent = text;
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    return one;
  }

  function short(value) {
    if (value === null || value === undefined || !Number.isFinite(value)) return "–";
    const size = Math.abs(value);
    if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2);
    return Number(value.toPrecision(5)).toLocaleString("en", { maximumFractionDigits: 4 });
  }

  function figure(plot) {
    const outside = element("figure"), caption = element("figcaption"), title = element("div", "");
    caption.append(title);
    for (const [kind, name] of plot.legend) {
      const entry = element("span");
      entry.append(element("i", "", { class: kind, "aria-hidden": "true" }), name);
      caption.append(entry);
    }
    const place = element("div", undefined, { class: "plot", role: "img" });
    const details = element("details"), scroll = element("div", undefined, { class: "scroll", role: "region", tabindex: "0" });
    const table = element("table");
    scroll.append(table);
    details.append(element("summary", "The same as a table"), scroll);
    outside.append(caption, place, details);
    document.getElementById("plots").append(outside);
    return { outside, title, place, details, scroll, table, chart: null, data: null, marks: [] };
  }

  function series(id, label) {
    const line = (name, stroke, dash) => ({ label: name, stroke: colour(stroke), width: 2, dash, points: { show: false } });
    if (id === "paid") return [line("booster", "booster"), line("baseline", "baseline", [7, 5])];
    if (id === "difference") return [line("estimate", "booster"), line("highest", "band"), line("lowest", "band")];
    return [line(label, "booster")];
  }

  function chart(plot, one, labels) {
    const axis = { stroke: colour("soft"), grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line") }, font: "12px system-ui, sans-serif" };
    const marks = (u) => {
      u.ctx.save();
      u.ctx.strokeStyle = colour("mark");
      u.ctx.lineWidth = 2;
      u.ctx.setLineDash([2, 4]);
      for (const at of one.marks) {
        const x = u.valToPos(at, "x", true);
        if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
        u.ctx.beginPath();
        u.ctx.moveTo(x, u.bbox.top);
        u.ctx.lineTo(x, u.bbox.top + u.bbox.height);
        u.ctx.stroke();
      }
      if (plot.id === "difference") {
        const y = u.valToPos(0, "y", true);
        if (y >= u.bbox.top && y <= u.bbox.top + u.bbox.height) {
          u.ctx.setLineDash([]);
          u.ctx.lineWidth = 1;
          u.ctx.strokeStyle = colour("ink");
          u.ctx.beginPath();
          u.ctx.moveTo(u.bbox.left, y);
          u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
          u.ctx.stroke();
        }
      }
      u.ctx.restore();
    };
    return new uPlot({
      width: Math.max(one.place.clientWidth, 100), height: 190, legend: { show: false }, cursor: { show: false },
      scales: { x: { time: false } }, series: [{}, ...series(plot.id, labels.unit)],
      bands: plot.id === "difference" ? [{ series: [2, 3], fill: colour("band") }] : [],
      axes: [{ ...axis, label: labels.x, labelSize: 18, labelFont: axis.font }, { ...axis, size: 62, values: (_, ticks) => ticks.map(short) }],
      hooks: { draw: [marks] },
    }, one.data, one.place);
  }

  function table(one, heads) {
    if (!one.details.open) return;
    const body = element("tbody"), head = element("tr");
    head.append(...heads.map((text) => element("th", text, { scope: "col" })));
    const rows = one.data[0].length, first = Math.max(0, rows - 20);
    for (let row = rows - 1; row >= first; row--) {
      const line = element("tr");
      line.append(...one.data.map((column, k) => element(k ? "td" : "th", short(column[row]), k ? {} : { scope: "row" })));
      body.append(line);
    }
    const top = element("thead");
    top.append(head);
    one.table.replaceChildren(element("caption", "The latest twenty points"), top, body);
  }

  // A side that has no round in a few points is drawn through; where it has none in many, it did not play, and the line ends.
  function joined(column) {
    const found = [...column];
    for (let from = 0; from < found.length; from++) {
      let to = from;
      while (to < found.length && column[to] === null) to++;
      if (to > from && to - from <= LONGEST_GAP) found.fill(undefined, from, to);
      from = Math.max(from, to);
    }
    return found;
  }

  function show(id, data, labels, marks = []) {
    const plot = PLOTS.find((entry) => entry.id === id), one = (made[id] ??= figure(plot));
    const fresh = JSON.stringify([data, marks, labels]) !== one.seen;
    one.outside.hidden = labels.hidden === true;
    if (one.outside.hidden || !fresh) return;
    one.seen = JSON.stringify([data, marks, labels]);
    one.data = [data[0], ...data.slice(1).map(joined)];
    one.marks = marks;
    one.title.textContent = labels.title;
    one.scroll.setAttribute("aria-label", `${labels.title}, as a table`);
    one.place.setAttribute("aria-label", `${labels.title}. ${labels.says}`);
    one.heads = [labels.x, ...series(id, labels.unit).map((line) => line.label)];
    one.labels = labels;
    if (one.chart === null) one.chart = chart(plot, one, labels);
    else one.chart.setData(one.data);
    table(one, one.heads);
    one.details.ontoggle = () => table(one, one.heads);
  }

  function redraw() {
    for (const plot of PLOTS) {
      const one = made[plot.id];
      if (!one || one.outside.hidden || one.data === null) continue;
      if (one.chart !== null) one.chart.destroy();
      one.chart = chart(plot, one, one.labels);
    }
  }

  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let waiting = 0;
  addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(redraw, 150); });
  return { show, short, element };
})();
