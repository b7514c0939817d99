"""Pages in a real browser: Chromium through Playwright; skipped where one of them is missing.

`page_from_file(path)` opens a file and gives Playwright's page. The test fails, at its end, if the
page asked for anything but that file, or if the console showed a warning or an error.
"""

import os
import shutil

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def executable():
    """The browser's path: $QDUET_CHROMIUM, or the first of `BROWSERS` on the path."""
    named = os.environ.get("QDUET_CHROMIUM")
    return named or next((found for name in BROWSERS if (found := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser():
    """One browser for all tests of a process."""
    api = pytest.importorskip("playwright.sync_api", reason="pip install playwright for these")
    path = executable()
    if path is None:
        pytest.skip("no browser found: install Debian's chromium, or set QDUET_CHROMIUM")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def page_from_file(browser):
    """A function of a path (and options such as ``viewport``, ``color_scheme``) to a page."""
    contexts, complaints = [], []

    def watch(page, address):
        def asked(request):
            if request.url != address and not request.url.startswith(("data:", "blob:")):
                complaints.append(f"request: {request.url}")

        def told(message):
            if message.type in ("error", "warning"):
                complaints.append(f"console {message.type}: {message.text}")

        page.on("request", asked)
        page.on("console", told)
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))

    def open_page(path, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        watch(page, path.resolve().as_uri())
        page.goto(path.resolve().as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
