// The parts of a pipeline's card beside the diagram: verdict, charts, operations, pictures; and the tables.
const KEPT_S = 300;  // of the charts

function verdictOf(verdict) {
  if (!verdict) return null;
  const remedies = verdict.remedies.slice(0, 3).map((one) => html("li", {}, one.change + " ",
    one.speedup >= 1.05 ? html("b", {}, one.speedup.toFixed(1) + " times the rate") : null));
  return html("div", {class: "verdict " + verdict.limiter}, html("p", {}, verdict.sentence),
    remedies.length ? html("ul", {}, remedies) : null);
}

// Points [second, value], drawn up to now. The scale begins at nothing and ends at the greatest value, or at `top`.
function chartOf(kind, title, points, text, top) {
  const now = points.length ? points[points.length - 1][0] : 0, span = clamp(now - (points[0] || [now])[0], 60, KEPT_S);
  const most = Math.max(top || 0, ...points.map((point) => point[1]), 1e-9);
  const place = ([second, value]) => `${(300 * (1 - (now - second) / span)).toFixed(1)},${(54 - 50 * value / most).toFixed(1)}`;
  const line = points.map(place).join(" L");
  const drawn = svg("svg", {viewBox: "0 0 300 56", preserveAspectRatio: "none", role: "img", "aria-label": title},
    svg("line", {class: "ground", x1: 0, x2: 300, y1: 55, y2: 55}));
  if (points.length > 1) {
    drawn.append(svg("path", {class: "area", d: `M${place([points[0][0], 0])} L${line} L300,54 Z`}), svg("path", {class: "stroke", d: "M" + line}));
  }
  return html("div", {class: "chart " + kind}, html("p", {}, title, html("b", {}, text)), drawn);
}

function chartsOf(history) {
  const last = (name) => history.length ? history[history.length - 1][name] : 0;
  const points = (name) => history.map((one) => [one.at, one[name]]);
  return html("div", {class: "charts"},
    chartOf("rate", "samples a second", points("samples"), short(last("samples"))),
    chartOf("waits", "trainers wait", points("waits"), percent(last("waits")), 1),
    chartOf("ready", "batches ready", points("ready"), short(last("ready"))));
}

// The operations by their part of the time, from the samples that were timed.
function operationsOf(pipeline) {
  const known = pipeline.operations.map((one) => ({...one, mean: one.samples ? one.busy_s / one.samples : 0})).filter((one) => one.mean > 0);
  if (!known.length) return null;
  const all = known.reduce((sum, one) => sum + one.mean, 0);
  known.sort((a, b) => b.mean - a.mean);
  const rows = known.slice(0, 8).map((one) => html("tr", {}, html("td", {}, html("code", {}, one.op)), html("td", {}, one.output),
    html("td", {class: "n"}, seconds(one.mean)), html("td", {class: "n"}, percent(one.mean / all)), html("td", {}, bar(one.mean / all))));
  return html("div", {}, html("h3", {}, "Time of the operations"), html("div", {class: "wide"},
    html("table", {}, html("thead", {}, html("tr", {}, ["operation", "output"].map((name) => html("th", {}, name)),
      html("th", {class: "n"}, "a sample"), html("th", {class: "n"}, "part"), html("th"))), html("tbody", {}, rows))));
}

// The colours come as one base64 text: three bytes a pixel, one picture after the other.
function sheetOf(sheet) {
  if (!sheet.pictures.length) return [html("p", {class: "note"}, sheet.why)];
  const raw = atob(sheet.rgb), {width, height} = sheet, size = width * height;
  const figures = sheet.pictures.map((picture, index) => {
    const canvas = html("canvas", {width, height, role: "img", "aria-label": "sample " + (index + 1) + " of the batch"});
    const image = new ImageData(width, height);
    for (let i = 0, at = index * size * 3; i < size; i++, at += 3) {
      for (let c = 0; c < 3; c++) image.data[4 * i + c] = raw.charCodeAt(at + c);
      image.data[4 * i + 3] = 255;
    }
    canvas.getContext("2d").putImageData(image, 0, 0);
    const words = [picture.sample === null ? "" : "#" + picture.sample, picture.label, picture.note].filter(Boolean).join(" ");
    return html("figure", {}, canvas, html("figcaption", {title: words}, words));
  });
  const about = `Output ${sheet.output}, ${sheet.shape.join(" × ")} ${sheet.dtype}, of epoch ${sheet.epoch + 1}, step ${sheet.step + 1}: ` +
    `the first ${plural(sheet.pictures.length, "sample")} of ${sheet.samples}, as the model gets them` + (sheet.is_stretched ? ", brightened to be seen." : ".");
  return [html("div", {class: "sheet"}, figures), html("p", {class: "note"}, about)];
}

function table(kind, title, columns, rows, note) {
  const cells = (row) => columns.map(([name, type], i) => html("td", {class: type, "data-name": type === "n" ? name : null}, String(row[i])));
  return [html("h2", {}, title), note ? html("p", {class: "note"}, note) : null,
    rows.length ? html("div", {class: "wide"}, html("table", {class: kind},
      html("thead", {}, html("tr", {}, columns.map(([name, type]) => html("th", {class: type}, name)))),
      html("tbody", {}, rows.map((row) => html("tr", {}, cells(row)))))) : null];
}

function sessionsOf(status) {
  const rows = status.sessions.map((one) => [one.client, one.pid, one.uid, seconds(one.since_s), one.attachments]);
  return table("stack", "Sessions", [["client"], ["pid", "n"], ["uid", "n"], ["for", "n"], ["rings", "n"]], rows,
    rows.length ? null : "No client is connected.");
}

function errorsOf(errors) {
  const rows = errors.errors.slice(-20).reverse().map((one) =>
    [one.last.slice(11, 19), one.pipeline, one.sample, one.name, one.reason, one.count]);
  const dropped = errors.dropped ? ` User code dropped ${plural(errors.dropped, "sample")}.` : "";
  const note = (errors.total ? `${plural(errors.total, "sample")} could not be used so far; ${short(errors.substituted)} replaced, ` +
    `${short(errors.masked)} masked.` : "Every sample could be used.") + dropped;
  return table("stack", "Errors", [["time"], ["pipeline"], ["sample", "n"], ["name", "sample"], ["reason", "reason"], ["times", "n"]], rows, note);
}

function tileOf(value, label, part) {
  return html("div", {class: "tile"}, html("b", {}, value), html("span", {}, label), part === undefined ? null : bar(part));
}

function tilesOf(metrics) {
  const now = metrics.now, rates = metrics.last_10_s;
  const samples = rates.pipelines.reduce((sum, one) => sum + one.samples_per_s, 0);
  return [tileOf(short(samples), "samples a second"),
    tileOf(short(rates.decode_busy) + " of " + now.decode_lanes, "decode threads busy", now.decode_lanes ? rates.decode_busy / now.decode_lanes : 0),
    tileOf(bytes(now.pss_bytes), "memory of the daemon"),
    tileOf(bytes(now.slot_bytes), "batches in host memory"),
    tileOf(bytes(now.cache_bytes), "cache of " + bytes(now.cache_bytes_max), now.cache_bytes_max ? now.cache_bytes / now.cache_bytes_max : 0),
    tileOf(String(now.sessions), now.sessions === 1 ? "session" : "sessions")];
}
