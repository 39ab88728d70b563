"use strict";
// The ledger's filter and sorting, and what a page needs for keyboards and for paper. No framework, no network.
(() => {
  const table = document.getElementById("table");
  if (table) ledger(table);

  function ledger(table) {
    const body = table.tBodies[0];
    const rows = Array.from(body.rows);
    const find = document.getElementById("find");
    const evidence = document.getElementById("evidence");
    const status = document.getElementById("status");
    const count = document.getElementById("count");
    const empty = document.getElementById("empty");

    const matches = (row) => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      if (!words.every((word) => row.dataset.text.includes(word))) return false;
      const cells = Array.from(row.querySelectorAll("[data-evidence]"));
      const own = evidence.value ? cells.filter((cell) => cell.dataset.evidence === evidence.value) : cells;
      if (status.value) return own.some((cell) => cell.dataset.status.split(" ").includes(status.value));
      return !evidence.value || own.some((cell) => cell.dataset.status !== "none");
    };
    const filter = () => {
      let shown = 0;
      for (const row of rows) {
        row.hidden = !matches(row);
        shown += row.hidden ? 0 : 1;
      }
      count.textContent = `${shown} of ${rows.length} rows`;
      empty.hidden = shown > 0;
    };
    const form = document.getElementById("filter");
    // Some browsers report a choice from a list as a change only.
    for (const event of ["input", "change"]) form.addEventListener(event, filter);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(filter));

    const heads = Array.from(table.tHead.rows[0].cells);
    const key = (row, column) => row.cells[column].dataset.sort;
    const compare = new Intl.Collator("en", { numeric: true }).compare;
    const sort = (column) => {
      const head = heads[column];
      const next = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
      for (const other of heads) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", next);
      const sign = next === "descending" ? -1 : 1;
      // Rows that compare equal keep the order of the study; the third press restores it altogether.
      const ordered = rows.slice();
      if (next !== "none") ordered.sort((a, b) => sign * compare(key(a, column), key(b, column)));
      body.append(...ordered);
    };
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => sort(column)));
  }

  // A region that scrolls says so and must be reachable by keyboard; one that does not must not take a stop.
  const regions = document.querySelectorAll(".scroll, .formula");
  const reachable = () => {
    for (const region of regions) {
      const scrolls = region.scrollWidth > region.clientWidth + 1;
      region.classList.toggle("more", scrolls);
      if (scrolls) {
        region.tabIndex = 0;
        if (!region.hasAttribute("role")) region.setAttribute("role", "group");
        if (!region.hasAttribute("aria-label")) region.setAttribute("aria-label", region.dataset.label || "Formula");
      } else {
        region.removeAttribute("tabindex");
      }
    }
  };
  reachable();
  addEventListener("resize", reachable);
  document.addEventListener("toggle", reachable, true);

  // Paper shows everything; afterwards the page is as it was.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = Array.from(document.querySelectorAll("details:not([open])"));
    for (const item of closed) item.open = true;
  });
  addEventListener("afterprint", () => {
    for (const item of closed) item.open = false;
  });
  // A link to something inside a closed part opens it.
  const reveal = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let item = target; item; item = item.parentElement) if (item.tagName === "DETAILS") item.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();
})();
