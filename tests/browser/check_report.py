"""The report in a real browser: it asks no network for anything, prints and can be read by all.

Run by ``make browser`` where Chromium and its driver are installed; the structure of the page is tested without them
by ``tests/report/test_report.py``. Exits with a list of what is wrong, or with the number of checks passed.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import made_study

from fedbounds import io
from fedbounds.report.html_pages import page
from fedbounds.study.ledger import ledger_lines

LAPTOP, PHONE = (1280, 900), (375, 812)
# WCAG 2.1 AA: contrast of ordinary text, and of large or bold text.
CONTRAST, LARGE = 4.5, 3.0
# WCAG 2.2 AA: the least side of a target, in CSS pixels.
TARGET = 24
# Seconds a page may take to answer a script.
PATIENCE = 120
# A layout rounds to whole pixels.
PIXEL = 1

# Every visible text whose contrast with what lies behind it is too low.
LOW_CONTRAST = """
const [ordinary, large] = arguments;
const channels = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return n.length < 4 ? [...n, 1] : n; };
const luminance = (rgb) => {
  const [r, g, b] = rgb.map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const c = channels(getComputedStyle(e).backgroundColor);
    if (c[3] === 1) return c.slice(0, 3);
  }
  return channels(getComputedStyle(document.documentElement).colorScheme.includes("dark") ? "0,0,0" : "255,255,255");
};
const bad = new Set();
let seen = 0;
for (const e of document.querySelectorAll("body *")) {
  if (e.closest("svg, script, style")) continue;
  const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
  if (!own || !e.getClientRects().length) continue;
  const style = getComputedStyle(e);
  const a = luminance(channels(style.color).slice(0, 3)), b = luminance(behind(e));
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const size = parseFloat(style.fontSize);
  const enough = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? large : ordinary;
  seen += 1;
  if (ratio < enough) bad.add(`${ratio.toFixed(2)}: ${e.outerHTML.slice(0, 90)}`);
}
return {seen, bad: Array.from(bad)};
"""


class Fault(AssertionError):
    """A check that failed."""


def require(condition: object, what: object) -> None:
    """Raise unless the condition holds."""
    if not condition:
        raise Fault(str(what))


@contextlib.contextmanager
def browser(size: tuple[int, int], dark: bool = False) -> Iterator[webdriver.Chrome]:
    """Headless Chromium with a window of ``size`` CSS pixels, in the light or the dark scheme."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or "chromium"
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver") or "chromedriver"))
    try:
        driver.set_script_timeout(PATIENCE)
        screen = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        # A smooth scroll would still be under way when the next check looks.
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme, still]})
        yield driver
    finally:
        driver.quit()


def requests(driver: webdriver.Chrome) -> list[str]:
    """Every address the page asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return [params["request"]["url"] for params in sent]


def open_all(driver: webdriver.Chrome) -> None:
    """Open every part that can be folded."""
    driver.execute_script("document.querySelectorAll('details').forEach((item) => { item.open = true; })")
    driver.execute_async_script("requestAnimationFrame(() => requestAnimationFrame(arguments[0]))")


def check_quiet(driver: webdriver.Chrome, address: str) -> None:
    """No error on the console, and no request but for the page and what it carries in itself."""
    console = [entry["message"] for entry in driver.get_log("browser")]
    require(not console, console)
    asked = requests(driver)
    require(address in asked, f"the page itself was not seen among {asked}")
    require(all(url == address or url.startswith("data:") for url in asked), asked)


def check_keyboard(driver: webdriver.Chrome) -> None:
    """The first stop is the skip link, it shows itself, and what has the focus has an outline."""
    body = driver.find_element("tag name", "body")
    driver.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    body.send_keys(Keys.TAB)
    focused = driver.switch_to.active_element
    require(focused.get_attribute("class") == "skip", focused.get_attribute("outerHTML"))
    require(focused.rect["x"] >= 0, "the skip link must show itself")
    outline = driver.execute_script("return parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
    require(outline >= 2, outline)
    focused.send_keys(Keys.ENTER)
    require(driver.execute_script("return location.hash") == "#main", "the skip link must lead to the ledger")


def check_contrast(driver: webdriver.Chrome) -> None:
    """Every text stands out from what lies behind it."""
    open_all(driver)
    result = driver.execute_script(LOW_CONTRAST, CONTRAST, LARGE)
    require(result["seen"] > 100, result["seen"])
    require(not result["bad"], result["bad"][:10])


def check_width(driver: webdriver.Chrome) -> None:
    """The page itself never scrolls sideways, whatever is open in it."""
    open_all(driver)
    wide, room = driver.execute_script(
        "return [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    require(wide <= room + PIXEL, f"the page is {wide} wide in a window of {room}")


def check_targets(driver: webdriver.Chrome) -> None:
    """What is to be hit is large enough."""
    small = driver.execute_script(
        "return Array.from(document.querySelectorAll('summary')).filter((e) => "
        "e.getClientRects().length && Math.min(e.offsetWidth, e.offsetHeight) < arguments[0])"
        ".map((e) => e.outerHTML)",
        TARGET,
    )
    require(not small, small[:5])


def check_mathematics(driver: webdriver.Chrome) -> None:
    """The statement of every claim is laid out as mathematics."""
    sizes = driver.execute_script(
        "return Array.from(document.querySelectorAll('h3 ~ .formula > math'), (m) => m.getBoundingClientRect().width)"
    )
    require(len(sizes) >= 2 and min(sizes) > 0, sizes)
    left = driver.execute_script("return document.querySelectorAll('merror').length")
    require(left == 0, f"{left} formulas were not understood")


def check_print(driver: webdriver.Chrome) -> None:
    """Paper shows what is folded on the screen, and no navigation."""
    folded = driver.execute_script("return document.querySelectorAll('details:not([open])').length")
    driver.execute_script("dispatchEvent(new Event('beforeprint'))")
    require(driver.execute_script("return document.querySelector('details:not([open])')") is None, "all must be open")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    hidden = driver.execute_script(
        "return Array.from(document.querySelectorAll('nav'), (e) => getComputedStyle(e).display)"
    )
    require(set(hidden) == {"none"}, hidden)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    driver.execute_script("dispatchEvent(new Event('afterprint'))")
    after = driver.execute_script("return document.querySelectorAll('details:not([open])').length")
    require(after == folded > 0, "all must be as before")


def views(address: str) -> Iterator[tuple[str, Callable[[], None]]]:
    """(name, check) over widths and schemes; each starts from a fresh load."""
    everywhere = (check_contrast, check_width, check_targets)
    once = (check_keyboard, check_mathematics, check_print)
    for size, dark in ((LAPTOP, False), (LAPTOP, True), (PHONE, False), (PHONE, True)):
        with browser(size, dark) as driver:
            driver.get(address)
            where = f"{size[0]} px, {'dark' if dark else 'light'}"
            yield f"quiet ({where})", lambda driver=driver: check_quiet(driver, address)  # type: ignore[misc]
            for check in (*(once if not dark else ()), *everywhere):
                driver.get(address)
                name = f"{check.__name__.removeprefix('check_')} ({where})"
                yield name, lambda check=check, driver=driver: check(driver)  # type: ignore[misc]


def main() -> int:
    """Build a page of a made-up study and check it; the number of faults."""
    faults, passed = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else Path(folder, "report.html")
        if len(sys.argv) == 1:
            result, drawn = made_study.objects(*made_study.study())
            lines = ledger_lines(result.claims, result.verdicts)
            io.write_text(path, page(result, lines, drawn))
        for name, check in views(path.as_uri()):
            try:
                check()
                passed += 1
            except (Fault, WebDriverException) as fault:
                faults.append(f"{name}: {fault}")
    print("\n".join([f"{passed} checks of the report in a browser passed", *faults]))
    return len(faults)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
