"use strict";
// Numbers as people read them, and elements. All texts of the daemon become text nodes, never markup.
const NS = "http://www.w3.org/2000/svg";

function element(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined) made.append(child);
  return made;
}
const html = (tag, attributes, ...children) => element(document.createElement(tag), attributes, children);
const svg = (tag, attributes, ...children) => element(document.createElementNS(NS, tag), attributes, children);

function short(value) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e9) return (value / 1e9).toFixed(1) + " G";
  if (size >= 1e6) return (value / 1e6).toFixed(1) + " M";
  if (size >= 1e4) return (value / 1e3).toFixed(size < 1e5 ? 1 : 0) + " k";
  if (size >= 100 || Number.isInteger(value)) return Math.round(value).toLocaleString("en");
  return value.toFixed(size < 10 ? 1 : 0);
}

function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1000 && unit < units.length - 1) value /= 1024, unit++;
  return (unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)) + " " + units[unit];
}

function seconds(value) {
  if (value >= 172800) return Math.floor(value / 86400) + " days";
  if (value >= 7200) return Math.floor(value / 3600) + " h " + Math.floor(value % 3600 / 60) + " min";
  if (value >= 120) return Math.floor(value / 60) + " min";
  if (value >= 10) return Math.round(value) + " s";
  if (value >= 1) return value.toFixed(1) + " s";
  if (value >= 1e-3) return (value * 1e3).toFixed(value < 1e-2 ? 1 : 0) + " ms";
  return Math.round(value * 1e6) + " µs";
}

const percent = (value) => (value * 100 < 10 && value > 0 ? (value * 100).toFixed(1) : Math.round(value * 100)) + " %";
const capitalized = (word) => word.charAt(0).toUpperCase() + word.slice(1);
const plural = (count, word) => short(count) + " " + word + (count === 1 ? "" : "s");
const clamp = (value, low, high) => Math.min(high, Math.max(low, value));

// Cut where it would be wider than so many characters.
const cut = (text, length) => text.length > length ? text.slice(0, length - 1) + "…" : text;

function bar(part) {
  const inner = html("i");
  inner.style.width = clamp(part, 0, 1) * 100 + "%";
  return html("div", {class: "bar"}, inner);
}
