// A pipeline as a diagram: source, stages, and a row of ring and trainer for each rank. On a narrow screen the diagram
// runs from top to bottom.
const ROWS_MAX = 4;
const LETTER = 6.8;  // the width of one, about

// The boxes of the diagram, from what was measured in the last seconds.
function boxesOf(pipeline, limiter) {
  const found = pipeline.caches.reduce((sum, one) => sum + one.memory_hits_per_s + one.disk_hits_per_s, 0);
  const missed = pipeline.caches.reduce((sum, one) => sum + one.misses_per_s, 0);
  const from = pipeline.store ? pipeline.store.replace(/^[a-z0-9]+:\/\//, "") : "files";
  const box = (kind, name, lines, limits, more) => ({kind, name, lines, limits: limits.includes(limiter), ...more});
  const cached = found + missed > 0 ? found / (found + missed) : 0;
  const first = [
    box("source", "Source", [cut(from, 16), "cache: " + (pipeline.cache_form || "off"), found + missed > 0 ? percent(cached) + " found" : ""],
      ["source"]),
    ...pipeline.stages.map((stage) => box("stage", capitalized(stage.name), linesOf(stage), limitsOf(stage),
      {busy: stage.lanes ? clamp(stage.busy / stage.lanes, 0, 1) : 0})),
  ];
  const edges = pipeline.stages.map((stage, i) => edgeTo(stage, pipeline.stages[i - 1], cached));
  const rings = pipeline.rings.slice(0, ROWS_MAX).map((ring) => rowOf(ring, pipeline.rings.length, box));
  return {first, edges, rings, left: pipeline.rings.length - rings.length};
}

const linesOf = (stage) => [short(stage.busy) + " of " + plural(stage.lanes, stage.lane.split(" ").pop()),
  stage.samples_per_s > 0 ? seconds(stage.p50_us * 1e-6) + " a sample" : "idle",
  stage.waiting > 0 ? short(stage.waiting) + " waiting" : "nothing waits"];

// The words of the verdict that mean this stage.
const limitsOf = (stage) => [stage.name, ...(stage.reads_source ? ["store"] : []),
  ...(stage.is_on_pool ? ["cpu", "memory", "stragglers"] : [])];

// The way into a stage: of bytes from the source, else of samples from the stage before.
function edgeTo(stage, before, cached) {
  if (stage.reads_source)
    return {rate: bytes(stage.bytes_per_s) + "/s", moves: stage.bytes_per_s > 0, wait: short(stage.samples_per_s) + " reads/s"};
  return {rate: short(stage.samples_per_s) + "/s", moves: stage.samples_per_s > 0,
          wait: before && before.reads_source && cached > 0 ? percent(cached) + " cached" : ""};
}

function rowOf(ring, count, box) {
  const trainer = ring.trainers[0];
  const waits = ring.trainers.reduce((most, one) => Math.max(most, one.waited), 0);
  const title = count > 1 || ring.world_size > 1 ? "Rank " + ring.rank : "Trainer";
  const who = trainer ? "pid " + trainer.pid + (ring.trainers.length > 1 ? " and " + (ring.trainers.length - 1) : "") : "none attached";
  return {
    ring: box("ring", "Ring", [ring.ready + " ready", ring.held + " held", bytes(ring.slot_bytes) + " a slot"], ["copy"], {ring}),
    trainer: box("trainer", title, [who, trainer && trainer.group ? cut(trainer.group, 17) : "", "waits " + percent(clamp(waits, 0, 1))], ["trainer"], {waits}),
    in: {rate: short(ring.samples_per_s) + "/s", moves: ring.samples_per_s > 0, wait: ring.batches_per_s > 0 ? seconds(ring.fill_p50_us * 1e-6) + " a batch" : ""},
    out: {rate: (ring.batches_per_s < 10 ? ring.batches_per_s.toFixed(1) : short(ring.batches_per_s)) + " batches/s",
          moves: ring.batches_per_s > 0, wait: waits >= 0.02 ? percent(clamp(waits, 0, 1)) + " waiting" : "", slow: waits >= 0.05},
  };
}

function drawBox(box, x, y, width, height) {
  const group = svg("g", {}, svg("rect", {class: "box" + (box.limits ? (box.kind === "trainer" ? " paces" : " limits") : ""), x, y, width, height, rx: 9}),
    svg("text", {class: "name", x: x + 11, y: y + 21}, box.name),
    ...box.lines.map((line, i) => svg("text", {class: "soft", x: x + 11, y: y + 39 + 16 * i}, cut(line, Math.floor((width - 14) / LETTER)))));
  const at = {x: x + 11, y: y + height - 13, height: 5, rx: 2.5}, room = width - 22;
  if (box.busy !== undefined) {
    group.append(svg("rect", {class: "under", width: room, ...at}),
      svg("rect", {class: "busy" + (box.busy > 0.9 ? " hot" : ""), width: room * box.busy, ...at}));
  }
  if (box.waits !== undefined) {
    group.append(svg("rect", {class: "under", width: room, ...at}),
      svg("rect", {class: "ready", width: room * (1 - clamp(box.waits, 0, 1)), ...at}));
  }
  if (box.ring) {  // a piece for each slot, or a share of the bar where there are many
    let left = at.x;
    const gap = box.ring.slots <= 16 ? 2 : 0, piece = (room + gap) / box.ring.slots;
    for (const part of ["held", "ready", "filling", "free"]) {
      for (let i = 0; i < Math.min(box.ring[part], 256); i++, left += piece) {
        group.append(svg("rect", {class: part === "free" ? "under" : part, ...at, x: left, width: Math.max(piece - gap, 0.5), rx: gap ? 2 : 0}));
      }
    }
  }
  return group;
}

function drawEdge(edge, x1, y1, x2, y2, isVertical) {
  const middle = (x1 + x2) / 2;
  const path = isVertical || y1 === y2 ? `M${x1},${y1} L${x2},${y2}` : `M${x1},${y1} C${middle},${y1} ${middle},${y2} ${x2},${y2}`;
  const tip = isVertical ? `M${x2 - 5},${y2 - 7} L${x2 + 5},${y2 - 7} L${x2},${y2} Z` : `M${x2 - 7},${y2 - 5} L${x2 - 7},${y2 + 5} L${x2},${y2} Z`;
  const text = {class: "of-edge rate", x: isVertical ? x2 + 14 : middle, y: isVertical ? (y1 + y2) / 2 + 4 : y2 - 9};
  if (!isVertical) text["text-anchor"] = "middle";
  const wait = {...text, class: "of-edge " + (edge.slow ? "soft wait" : "soft"), y: isVertical ? text.y : y2 + 18};
  if (isVertical) wait.x = text.x + 110;
  return svg("g", {}, svg("path", {class: "edge" + (edge.moves ? " moves" : ""), d: path}), svg("path", {class: "tip", d: tip}),
    svg("text", text, edge.rate), edge.wait ? svg("text", wait, edge.wait) : null);
}

function drawAcross(boxes, width) {
  const rows = Math.max(boxes.rings.length, 1), height = 104, step = 118;
  const columns = boxes.first.length + 2, last = boxes.first.length - 1;
  const gap = clamp(width * (columns > 5 ? 0.45 : 0.54) / columns, 84, 118), box = (width - (columns - 1) * gap) / columns;
  const whole = rows * step - step + height, top = (whole - height) / 2, at = (column) => column * (box + gap);
  const drawn = svg("svg", {viewBox: `0 0 ${width} ${whole}`, height: whole, role: "img", "aria-label": "flow of the samples"});
  boxes.first.forEach((one, i) => drawn.append(drawBox(one, at(i), top, box, height)));
  boxes.edges.forEach((edge, i) => drawn.append(drawEdge(edge, at(i) + box + 3, top + height / 2, at(i + 1) - 3, top + height / 2)));
  boxes.rings.forEach((row, i) => {
    const y = i * step, middle = y + height / 2;
    drawn.append(drawEdge(row.in, at(last) + box + 3, top + height / 2, at(last + 1) - 3, middle), drawBox(row.ring, at(last + 1), y, box, height),
      drawEdge(row.out, at(last + 1) + box + 3, middle, at(last + 2) - 3, middle), drawBox(row.trainer, at(last + 2), y, box, height));
  });
  return drawn;
}

function drawDown(boxes, width) {
  const height = 104, gap = 42, list = [...boxes.first];
  const edges = [...boxes.edges];
  for (const row of boxes.rings) list.push(row.ring, row.trainer), edges.push(row.in, row.out);
  const whole = list.length * (height + gap) - gap;
  const drawn = svg("svg", {viewBox: `0 0 ${width} ${whole}`, height: whole, role: "img", "aria-label": "flow of the samples"});
  list.forEach((one, i) => drawn.append(drawBox(one, 0, i * (height + gap), width, height)));
  edges.slice(0, list.length - 1).forEach((edge, i) => {
    const y = i * (height + gap) + height, isNewRow = i > boxes.first.length - 1 && list[i].kind === "trainer";
    if (!isNewRow) drawn.append(drawEdge(edge, 26, y + 3, 26, y + gap - 3, true));
  });
  return drawn;
}

function drawFlow(pipeline, limiter, width) {
  const boxes = boxesOf(pipeline, limiter);
  const drawn = width >= 880 ? drawAcross(boxes, width) : drawDown(boxes, width);
  const note = boxes.left > 0 ? html("p", {class: "note"}, `and ${plural(boxes.left, "more rank")}`) : null;
  return [drawn, note];
}
