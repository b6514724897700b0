// Asks the daemon once a second and draws what it says. The token comes behind the # of the address, which no server
// and no log sees, and is kept for this tab alone.
const TOKEN = "spdld-token", PICTURES_EVERY = 3, LISTS_EVERY = 5;  // in rounds of a second
const byId = (id) => document.getElementById(id);
const cards = new Map();  // of pipelines, by name
let round = 0;

function takeToken() {
  const given = new URLSearchParams(location.hash.slice(1)).get("token");
  if (!given) return;
  sessionStorage.setItem(TOKEN, given);
  history.replaceState(null, "", location.pathname);
}

class Refused extends Error {}

async function ask(path) {
  const token = sessionStorage.getItem(TOKEN);
  let answer;
  try {
    answer = await fetch(path, {headers: token ? {Authorization: "Bearer " + token} : {}, cache: "no-store"});
  } catch {
    throw new Error("the daemon does not answer");
  }
  if (answer.status === 401) throw new Refused("the token is asked for");
  if (!answer.ok) throw new Error((await answer.text()).trim() || "status " + answer.status);
  return answer.json();
}

function newCard(name) {
  const parts = {};
  for (const part of ["head", "verdict", "flow", "charts", "sheet", "operations"]) parts[part] = html("div", {class: part});
  const key = html("p", {class: "key"}, [["held", "held by the trainer"], ["ready", "ready"], ["filling", "being filled"], ["free", "free"]]
    .map(([kind, label]) => html("span", {class: kind}, html("i"), label)));
  const title = html("h3", {}, "What the model is fed");
  const root = html("section", {class: "card", "aria-label": "pipeline " + name}, parts.head, parts.verdict, parts.flow, key, parts.charts,
    title, parts.sheet, parts.operations);
  for (const part of ["verdict", "sheet", "charts"]) parts[part].className = "";
  return {name, root, parts, history: []};
}

function note(card, metrics, now) {
  const rates = metrics.last_1_s.pipelines.find((one) => one.name === card.name);
  if (!rates) return;
  const most = (values) => values.reduce((all, one) => Math.max(all, one), 0);
  const waits = most(rates.rings.flatMap((ring) => ring.trainers.map((one) => one.waited)));
  const ready = rates.rings.reduce((sum, ring) => sum + ring.ready, 0);
  card.history.push({at: now, samples: rates.samples_per_s, waits: clamp(waits, 0, 1), ready});
  while (card.history[0].at < now - KEPT_S) card.history.shift();
}

function draw(card, metrics) {
  const totals = metrics.now.pipelines.find((one) => one.name === card.name);
  const rates = metrics.last_10_s.pipelines.find((one) => one.name === card.name) || totals;
  const verdict = metrics.verdicts.find((one) => one.pipeline === card.name);
  const {parts} = card;
  const ranks = totals.rings.length;
  parts.head.replaceChildren(html("h2", {}, card.name), html("span", {class: "chip " + totals.state}, totals.state),
    html("span", {class: "chip"}, plural(totals.samples, "sample") + " delivered"), html("span", {class: "chip"}, plural(ranks, "ring")),
    html("span", {class: "chip"}, "cache " + (totals.cache_form || "off")));
  parts.verdict.replaceChildren(...[verdictOf(verdict)].filter(Boolean));
  if (rates.stages.length && rates !== totals)
    parts.flow.replaceChildren(...drawFlow(rates, verdict && verdict.limiter, parts.flow.clientWidth || 700).filter(Boolean));
  parts.charts.replaceChildren(chartsOf(card.history));
  parts.operations.replaceChildren(...[operationsOf(totals)].filter(Boolean));
}

function drawAll(metrics) {
  const names = new Set(metrics.now.pipelines.map((one) => one.name)), now = performance.now() / 1000;
  byId("about").textContent = `${metrics.daemon.replace("spdld ", "version ")}, process ${metrics.pid}, up ${seconds(metrics.uptime_s)}`;
  byId("node").replaceChildren(...tilesOf(metrics));
  for (const [name, card] of cards) if (!names.has(name)) card.root.remove(), cards.delete(name);
  for (const name of names) {
    if (!cards.has(name)) cards.set(name, newCard(name)), byId("pipelines").append(cards.get(name).root);
    note(cards.get(name), metrics, now);
    draw(cards.get(name), metrics);
  }
  if (!names.size) byId("pipelines").replaceChildren(html("section", {class: "card"}, html("h2", {}, "No pipeline is open"),
    html("p", {class: "note"}, "A pipeline shows here when the first trainer attaches.")));
  else for (const child of [...byId("pipelines").children]) if (![...cards.values()].some((card) => card.root === child)) child.remove();
}

async function drawPictures() {
  for (const card of [...cards.values()].slice(0, 8)) {
    const sheet = await ask("/api/batch?pipeline=" + encodeURIComponent(card.name));
    if (sheet.pictures.length || !card.parts.sheet.querySelector("canvas")) card.parts.sheet.replaceChildren(...sheetOf(sheet));
  }
}

async function drawLists() {
  const [status, errors] = await Promise.all([ask("/api/status"), ask("/api/errors")]);
  byId("sessions").replaceChildren(...sessionsOf(status).filter(Boolean));
  byId("errors").replaceChildren(...errorsOf(errors).filter(Boolean));
  byId("sessions").hidden = byId("errors").hidden = false;
}

function say(kind, text) {
  byId("link").className = kind;
  byId("link").textContent = text;
}

async function look() {
  if (document.hidden && round > 0) return;
  try {
    drawAll(await ask("/api/metrics"));
    if (round % LISTS_EVERY === 0) await drawLists();
    if (round % PICTURES_EVERY === 0 || round < 3) await drawPictures();
    round++;
    say("live", "live");
    byId("door").hidden = true;
  } catch (error) {
    const isRefused = error instanceof Refused;
    byId("door").hidden = !isRefused;
    say("lost", isRefused ? "locked" : error.message);
  }
}

byId("door").addEventListener("submit", (event) => {
  event.preventDefault();
  sessionStorage.setItem(TOKEN, byId("token").value.trim());
  byId("token").value = "";
  look();
});
async function keepLooking() {
  await look();
  setTimeout(keepLooking, 1000);
}
addEventListener("hashchange", takeToken);  // the same page is opened once more, after the daemon has a new token
takeToken();
keepLooking();
