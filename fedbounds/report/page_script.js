"use strict";
// What a page needs for keyboards and for paper. No framework, no network.
(() => {
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
